"""Where values leave a pipeline: a value that is read is computed, with the steps that it needs and no more."""

import copy
import io
import os
import pickle
import threading

import numpy as np
import pytest

import dispatch_core as dc
import torchlike


@pytest.fixture
def pipe():
    with torchlike.pipeline() as pipe:
        yield pipe


@pytest.fixture
def one(pipe):
    return torchlike.ones(1) + 1


def recorded_names(pipe):
    return [step.name for step in pipe._session.steps]


def test_torchlike_hands_out_the_cores_pipeline():
    assert torchlike.pipeline is dc.pipeline
    with pytest.raises(AttributeError, match="has no attribute 'pipelines'"):
        torchlike.pipelines  # noqa: B018  # the access is tested


def test_shapes_and_dtypes_are_known_at_once(pipe):
    x = torchlike.ones(2, 3, requires_grad=True)
    y = (x * 2).t()[1:]
    assert y._pending
    assert (y.shape, y.dtype, y.stride(), y.storage_offset(), y.device.type) == (
        (2, 2),
        torchlike.float32,
        (1, 3),
        1,
        "cpu",
    )
    assert y.requires_grad and y.grad_fn.name() == "SliceBackward0" and not y.is_contiguous()
    assert len(y) == 2 and y.numel() == 4 and y.nbytes == 16
    assert y._pending


READS = {
    "numpy": lambda t: t.numpy(),
    "item": lambda t: t.item(),
    "tolist": lambda t: t.tolist(),
    "repr": repr,
    "str": str,
    "format": lambda t: f"{t:.2f}",
    "bool": bool,
    "int": int,
    "float": float,
    "complex": complex,
    "index": lambda t: range(t.long()),
    "in": lambda t: 2 in t,
    "asarray": np.asarray,
    "data_ptr": lambda t: t.data_ptr(),
    "from_dlpack": np.from_dlpack,
    "dlpack_device": lambda t: t.__dlpack_device__(),
    "pickle": pickle.dumps,
    "save": lambda t: torchlike.save({"t": t}, os.devnull),
    "equal": lambda t: torchlike.equal(t, t),
    "allclose": lambda t: torchlike.allclose(t, t),
    "if": lambda t: 1 if t else 0,
    "while": lambda t: [None for _ in iter(lambda: bool(t), True)],
    "sorted": lambda t: sorted([t, t]),
    "nonzero": lambda t: t.nonzero(),
    "mask": lambda t: t[t > 1],
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_read_computes_only_required_steps(pipe, one, read):
    if read is READS["format"]:
        one = one[0]
    before, after, beside = one - 1, one * 3, torchlike.zeros(2) + 5
    wanted = before + 1
    if read is READS["format"]:
        wanted = wanted.reshape(())
    read(wanted)
    assert not before._pending and after._pending and beside._pending
    assert (wanted.tolist(), after.tolist(), beside.tolist()) == (
        ([2.0], [6.0], [5.0, 5.0]) if wanted.dim() else (2.0, 6.0, [5.0, 5.0])
    )


def test_the_end_of_the_block_and_flush_compute_all():
    with torchlike.pipeline() as pipe:
        x = torchlike.ones(2) + 1
        pipe.flush()
        assert not x._pending
        x.add_(1)
        y = x * 2
        assert x._pending and y._pending
    assert not x._pending and not y._pending
    assert y.tolist() == [6.0, 6.0]


def test_a_written_tensor_is_pending_until_the_write_is_done(pipe):
    x = torchlike.tensor([1.0, 2.0])
    view = x[1:]
    assert not x._pending
    assert x.add_(1) is x
    assert x._pending and view._pending and x._version == view._version == 1
    assert view.tolist() == [3.0]
    assert not x._pending


def test_a_cast_is_recorded_and_a_copy_to_another_device_is_not(pipe, one):
    assert one.to(torchlike.int64)._pending and one.double()._pending
    one.to("meta")
    assert one._pending  # there is nothing to copy
    other = torchlike.ones(1, dtype=torchlike.float64)
    assert one.to(other)._pending and one.to(torchlike.ones(1)) is one
    assert one._pending  # no device is named


TO_CPU = {
    "cpu()": lambda t: t.cpu(),
    "to a name": lambda t: t.to("cpu"),
    "to a device": lambda t: t.to(torchlike.device("cpu")),
    "by keyword": lambda t: t.to(device="cpu"),
    "with its dtype": lambda t: t.to("cpu", t.dtype),
    "as_tensor": lambda t: torchlike.as_tensor(t, device="cpu"),
}


@pytest.mark.parametrize("move", TO_CPU.values(), ids=TO_CPU)
@pytest.mark.parametrize("wait", [lambda t: t + 1, lambda t: t.add_(1), lambda t: (t + 1)[:], lambda t: t[:].add_(1)])
def test_a_tensor_that_is_sent_to_where_it_lies_waits_no_longer(pipe, move, wait):
    given = torchlike.tensor([1.0, 2.0])
    beside = given.exp() + 1
    tensor = wait(given)
    assert tensor._pending
    assert move(tensor) is tensor
    assert not tensor._pending and beside._pending
    assert tensor.tolist() == [2.0, 3.0]


def test_a_tensor_that_is_sent_to_where_it_lies_with_another_dtype_is_converted_later(pipe, one):
    converted = one.to("cpu", torchlike.float64)
    assert not one._pending and converted._pending
    copied = one.to("cpu", copy=True)
    assert copied is not one and copied._pending
    assert (converted.tolist(), copied.tolist()) == ([2.0], [2.0])


def test_a_failed_step_raises_where_its_tensor_is_sent_to_its_own_device(pipe):
    failed = torchlike.ones(2).index_select(0, torchlike.tensor([7])) + 1
    with pytest.raises(IndexError):
        failed.cpu()


def test_a_write_waits_for_observable_readers(pipe):
    x = torchlike.zeros(1)
    seen, unseen = x + 1, x + 2
    del unseen
    x.add_(10)
    assert x.tolist() == [10.0]
    assert seen.tolist() == [1.0]
    pipe.flush()
    assert pipe.stats().dropped == 1


def test_a_write_through_a_view_of_a_computed_value_is_not_dropped(pipe):
    x = torchlike.ones(3) + 1
    total = x.sum()
    x.add_(1)
    assert total.item() == 6  # the sum alone: the write is still recorded
    part = x[1:]
    del x
    assert part.tolist() == [3.0, 3.0]


def test_long_recordings_drop_unobservable_steps(pipe):
    x = torchlike.zeros(1)
    for _ in range(5000):
        x = x + 1
        x * 2  # a result that is thrown away
        if not x.shape:
            raise AssertionError
    assert len(recorded_names(pipe)) < 8000
    assert pipe.stats().dropped > 2000
    assert x.item() == 5000


# Copies of values and of memory.


def test_a_pending_value_is_copied_and_pickled_as_its_array(pipe):
    value = dc.ops.aten.add(np.ones(2), np.ones(2))
    for made in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
        assert type(made) is np.ndarray and made.tolist() == [2.0, 2.0]
    assert copy.deepcopy({"a": [value]})["a"][0].tolist() == [2.0, 2.0]


def test_a_deep_copy_of_a_tensor_is_recorded(pipe, one):
    assert copy.deepcopy(one)._pending
    copied = copy.copy(one)
    one.add_(1)
    assert copied.tolist() == one.tolist() == [3.0]  # as without a pipeline, a shallow copy shares memory


def test_modules_are_saved_as_they_are(pipe, tmp_path):
    layer = torchlike.nn.Linear(2, 1)
    with torchlike.no_grad():
        layer.weight.fill_(3)
    torchlike.save(layer.state_dict(), tmp_path / "weights")
    assert torchlike.load(tmp_path / "weights")["weight"].tolist() == [[3.0, 3.0]]
    buffer = io.BytesIO()
    pickle.dump(layer.weight, buffer)
    assert pickle.loads(buffer.getvalue()).tolist() == [[3.0, 3.0]]


def test_copies_do_not_lend_memory(pipe):
    tensor = torchlike.zeros(3) + 1
    np.array(tensor), np.asarray(tensor, np.float64), tensor.tolist(), tensor.clone().numpy(), repr(tensor)
    tensor.add_(1)
    assert tensor._pending


def test_raw_arrays_are_the_callers(pipe):
    array = np.zeros(2)
    assert dc.ops.aten.add_(array, 1) is array
    assert array.tolist() == [1.0, 1.0]
    value = dc.ops.aten.add(array, 1)
    assert dc.ops.aten.mul_(value, 2) is value
    assert value.result().tolist() == [4.0, 4.0]


def test_a_write_that_may_overlap_with_its_inputs_runs_at_once_however_often_it_comes(pipe):
    base = torchlike.arange(4.0)
    for _ in range(3):  # The first call compiles the code of the others.
        with pytest.raises(RuntimeError, match="refer to a single memory location"):
            base[1:].mul_(base[:3])
    pending = base + 1
    for _ in range(3):
        with pytest.raises(RuntimeError, match="refer to a single memory location"):
            pending[1:].mul_(pending[:3])


# Random numbers.


def test_random_numbers_are_drawn_in_the_order_of_the_calls(pipe):
    def draw():
        first, second = torchlike.rand(2), torchlike.randn(2)
        dropped = torchlike.rand(3)
        del dropped
        third = torchlike.zeros(2).uniform_()
        return third.tolist(), second.tolist(), first.tolist()

    torchlike.manual_seed(3)
    found = draw()
    with dc.exclude_keys("Pipeline"):
        torchlike.manual_seed(3)
        assert draw() == found


def test_generators_are_read_and_seeded_after_recorded_steps(pipe):
    torchlike.manual_seed(3)
    first = torchlike.rand(2)
    state = torchlike.get_rng_state()
    second = torchlike.rand(2)
    torchlike.set_rng_state(state)
    again = torchlike.rand(2)
    torchlike.manual_seed(3)
    third = torchlike.rand(2)
    assert second.tolist() == again.tolist() != first.tolist() == third.tolist()
    own = torchlike.Generator().manual_seed(1)
    x = torchlike.rand(1, generator=own)
    before = own.get_state()
    y = torchlike.rand(1, generator=own)
    assert own.set_state(before) is own
    assert torchlike.rand(1, generator=own).item() == y.item() != x.item()


# Pipelines in pipelines, and from elsewhere.


def test_an_inner_pipeline_comes_after_the_outer_one(pipe):
    x = torchlike.tensor([0.0, 0.0])
    before = x + 1
    x.add_(5)
    torchlike.manual_seed(0)
    first = torchlike.rand(1)
    with torchlike.pipeline() as inner:
        x.mul_(2)
        second = torchlike.rand(1)
        after = x + 1
        assert after._pending and before._pending and x._pending
    assert not after._pending and not x._pending
    assert (before.tolist(), after.tolist(), x.tolist()) == ([1.0, 1.0], [11.0, 11.0], [10.0, 10.0])
    torchlike.manual_seed(0)
    assert [first.item(), second.item()] == torchlike.rand(2).tolist()
    assert dc.current_pipeline() is pipe._session
    assert inner.stats().recorded == 3
    assert (x + 1)._pending


def test_a_read_in_an_inner_pipeline_sees_the_outer_ones_writes(pipe):
    x = torchlike.zeros(2)
    x.add_(1)
    with torchlike.pipeline():
        assert x._pending
        assert x.tolist() == [1.0, 1.0]


def test_a_pending_tensor_can_be_read_by_another_thread(pipe, one):
    one.add_(1)
    found = []
    thread = threading.Thread(target=lambda: found.extend([one.tolist(), (one * 2).tolist()]))
    thread.start()
    thread.join()
    assert found == [[3.0], [6.0]]


# Gradients.


def test_backward_is_recorded_and_hooks_may_read(pipe):
    w = torchlike.tensor([2.0, 3.0], requires_grad=True)
    seen = []
    hidden = w * 2
    hidden.register_hook(lambda grad: seen.append(grad.tolist()))
    (hidden * w).sum().backward()
    assert w.grad._pending
    assert seen == [[2.0, 3.0]]
    assert w.grad.tolist() == [8.0, 12.0]
    other = torchlike.tensor([1.0], requires_grad=True)
    (grad,) = torchlike.autograd.grad((other**2).sum(), other)
    assert grad._pending and grad.item() == 2


def test_a_saved_tensor_that_was_changed_is_refused_as_without_a_pipeline(pipe):
    x = torchlike.ones(2, requires_grad=True)
    y = x.exp()
    total = y.sum()
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        total.backward()


def test_grad_mode_is_that_of_the_call():
    x = torchlike.ones(2, requires_grad=True)
    with torchlike.no_grad(), torchlike.pipeline():
        unrecorded = x * 2
    with torchlike.pipeline() as pipe:
        y = x * 2
        with torchlike.no_grad():
            pipe.flush()
    assert y.requires_grad and not unrecorded.requires_grad


# Calls that run at once.


def test_never_recorded_operators_are_listed(root):
    from dispatch_pipelines.record.recording import _reason_never_recorded

    dc.load_backend("cpu")
    dc.load_backend("meta")
    found = set()
    for name, entry in dc.registry.entries.items():
        if name.startswith(("aten::", "prims::")) and dc.DispatchKey.CPU in entry.kernels:
            why = _reason_never_recorded(entry, entry.signature) or (
                "" if dc.DispatchKey.Meta in entry.kernels else "no shape rule"
            )
            found |= {(name, why)} if why else set()
    text = (root / "docs" / "pipeline-eager.md").read_text()
    assert found
    assert [(name, why) for name, why in found if f"`{name}`" not in text or f"| {why} |" not in text] == []


#: Arguments of the operators that make a tensor beside another one, besides the tensor and the device.
BESIDE = {"full_like": (2,), "new_empty": ((3,),), "new_empty_strided": ((3,), (1,)), "new_full": ((3,), 2)}
BESIDE |= {"new_ones": ((3,),), "new_zeros": ((3,),), "randint_like": (5,), "randint_like.low_dtype": (1, 5)}
BESIDE["randint_like.low_generator_dtype"] = (1, 5)
BESIDE |= dict.fromkeys(("linspace", "logspace"), (torchlike.ones(()), 3))


def _placed_beside():
    """Yield every operator of aten that makes a tensor beside another one, and takes a device."""
    import dispatch_aten  # noqa: F401  # defines them

    plans = {
        name: entry.signature for name, entry in sorted(dc.registry.entries.items()) if entry.signature is not None
    }
    for name, plan in plans.items():
        takes_both = plan.device_index is not None and not plan.is_factory and plan.parameters[0].tensors == "tensor"
        reads_values = name.startswith(("aten::linspace", "aten::logspace"))
        if name.startswith("aten::") and takes_both and not plan.writes and not reads_values:
            yield name.removeprefix("aten::")


@pytest.mark.parametrize("name", list(_placed_beside()))
def test_results_on_another_device_are_as_without_a_pipeline(name):
    op = dc.registry.get(f"aten::{name}").op
    more = BESIDE.get(name.partition(".")[0] if name not in BESIDE else name, ())
    x = torchlike.ones(2)
    required = {"dtype": torchlike.float32, "layout": 0} if name == "to.dtype_layout" else {}
    if name == "to.device":
        more, required = ("meta", torchlike.float32), {}
    else:
        required["device"] = "meta"
    if "generator" in name:
        required["generator"] = None
    expected = op(x, *more, **required)
    with dc.pipeline():
        for each in (x, x * 1, x):
            found = op(each, *more, **required)
            assert (type(found._dispatch_data), found._dispatch_mask) == (
                type(expected._dispatch_data),
                expected._dispatch_mask,
            )
            assert (found.shape, found.dtype, str(found.device)) == (expected.shape, expected.dtype, "meta")
