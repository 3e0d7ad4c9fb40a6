"""Tensors in a pipeline: steps that fail, order of effects, hooks, threads and layers."""

from __future__ import annotations

import asyncio
import copy
import gc
import inspect
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import dispatch_core as dc
import torchlike
from dispatch_pipelines.record.errors import PipelineError

pytestmark = pytest.mark.no_pipeline(reason="the tests open pipelines of their own")

WAIT = 20


def here():
    """Return the caller's file and the line after its own, as errors show them."""
    frame = inspect.currentframe().f_back
    return f"{__file__}:{frame.f_lineno + 1}"


def bad_row(x):
    """Return a row beyond the last, an error that no shape rule finds."""
    return x.index_select(0, torchlike.tensor([7]))


@pytest.fixture
def data():
    return torchlike.tensor([[1.0, 2.0], [3.0, 4.0]])


# Errors.


def test_the_error_names_operator_shapes_dtypes_and_the_users_line(data):
    with pytest.raises(IndexError) as caught, dc.pipeline():
        index = torchlike.tensor([7])
        line = here()
        row = data.index_select(0, index)
    text = str(caught.value)
    assert text.startswith("aten::index_select(float32[2, 2], int64[1]) failed in a pipeline: DimensionError: ")
    assert text.endswith(f"Recorded at {line}")
    assert isinstance(caught.value, PipelineError)
    assert isinstance(caught.value.__cause__, IndexError)
    assert row.shape == (1, 2)


def test_the_users_line_is_shown_for_methods_operators_composites_and_modules(data):
    def lines_of(call):
        with dc.pipeline():
            kept = call()
            found = [step.line for step in dc.current_pipeline().steps]
        del kept
        return found

    layer = torchlike.nn.Linear(2, 3)
    target = torchlike.tensor([0, 1])
    for call in (
        lambda: data + data,
        lambda: data.sum(0),
        lambda: torchlike.exp(data),
        lambda: data[0],
        lambda: layer(data),
        lambda: torchlike.nn.functional.cross_entropy(data, target),
        lambda: data.clone().add_(1),
    ):
        lines = lines_of(call)
        assert set(lines) <= {f"{__file__}:{inspect.getsourcelines(call)[1]}"}
    assert lines


def test_a_wrong_call_fails_at_its_own_line_with_the_eager_error(data):
    with pytest.raises(Exception) as eager:  # any error must be the same
        data @ torchlike.ones(3)
    with dc.pipeline() as pipe:
        recorded = pipe.stats().recorded
        with pytest.raises(type(eager.value)) as caught:
            data @ torchlike.ones(3)
        assert str(caught.value) == str(eager.value)
        assert not isinstance(caught.value, PipelineError)
        # Only the ones.
        assert pipe.stats().recorded - recorded <= 1


READERS = {
    "numpy": lambda x: x.numpy(),
    "item": lambda x: x.sum().item(),
    "tolist": lambda x: x.tolist(),
    "repr": repr,
    "float": lambda x: float(x.sum()),
    "bool": lambda x: bool((x > 0).all()),
    "iter": lambda x: [row.tolist() for row in x],
    "array": np.asarray,
    "deepcopy": lambda x: copy.deepcopy(x).tolist(),
    "detach": lambda x: x.detach().clone().numpy(),
    "equal": lambda x: torchlike.equal(x, x),
}


@pytest.mark.parametrize("read", READERS)
def test_a_failed_tensor_raises_the_same_error_whoever_reads_it(data, read):
    with pytest.raises(IndexError) as caught, dc.pipeline():
        row = bad_row(data) * 2
    for _ in range(2):
        with pytest.raises(IndexError) as again:
            READERS[read](row)
        assert again.value is caught.value
    with dc.pipeline(), pytest.raises(IndexError) as inside:
        READERS[read](row)
    assert inside.value is caught.value


def test_the_pipeline_goes_on_after_an_error_and_earlier_results_are_valid(data):
    with dc.pipeline():
        before = data * 2
        row = bad_row(before)
        with pytest.raises(IndexError):
            row.tolist()
        after = before + 1
    assert before.tolist() == [[2, 4], [6, 8]]
    assert after.tolist() == [[3, 5], [7, 9]]


def test_a_failed_tensor_in_a_backward_raises_the_error(data):
    weight = torchlike.ones(2, 2, requires_grad=True)
    with dc.pipeline():
        loss = (bad_row(weight) * 2).sum()
        loss.backward()
        with pytest.raises(IndexError):
            loss.item()
    assert weight.grad is not None


def test_a_failed_in_place_step_raises_and_is_not_repeated(data):
    index, target = torchlike.tensor([7]), torchlike.zeros(2, 2)
    with pytest.raises(IndexError), dc.pipeline():
        target.index_add_(0, index, torchlike.ones(1, 2))
    assert target.tolist() == [[0, 0], [0, 0]]


def test_the_bodys_exception_wins_and_notes_the_flushs(data):
    kept = []
    with pytest.raises(KeyError) as caught, dc.pipeline():
        kept.append(bad_row(data))
        raise KeyError("body")
    assert ": aten::index_select(float32[2, 2], int64[1]) failed in a pipeline" in caught.value.__notes__[0]
    assert dc.current_pipeline() is None


# The predecessors' defects.


@pytest.mark.parametrize("read", READERS)
def test_every_way_to_the_host_flushes(data, read):
    expected = READERS[read](data * 2 + 1)
    with dc.pipeline():
        found = READERS[read](data * 2 + 1)
    assert np.array_equal(found, expected) if isinstance(found, np.ndarray) else found == expected


def test_a_data_pointer_is_that_of_the_computed_memory(data):
    with dc.pipeline():
        value = data * 2
        pointer = value.data_ptr()
        assert value.numpy().ctypes.data == pointer


def test_setting_an_item_works_in_a_pipeline(data):
    with dc.pipeline():
        value = data * 2
        value[0] = 7
        value[1, 1] = 9
    assert value.tolist() == [[7, 7], [6, 9]]


def test_an_in_place_call_returns_the_same_tensor_and_its_read_is_not_stale(data):
    with dc.pipeline():
        version = data._version
        assert data.add_(1) is data
        assert data._version == version + 1
        assert data.numpy().tolist() == [[2, 3], [4, 5]]
        value = data * 1
        assert value.mul_(10) is value
        assert value.tolist() == [[20, 30], [40, 50]]


def test_grad_mode_is_the_one_at_the_call(data):
    weight = torchlike.ones(2, 2, requires_grad=True)
    with dc.pipeline() as pipe:
        value = (weight * data).sum()
        assert value.requires_grad
        assert value.grad_fn is not None
        with torchlike.no_grad():
            pipe.flush()
            quiet = weight * data
        assert not quiet.requires_grad
    assert value.requires_grad
    value.backward()
    assert weight.grad.tolist() == data.tolist()


def test_gradients_can_be_asked_for_inside(data):
    weight = torchlike.ones(2, 2, requires_grad=True)
    with dc.pipeline():
        (grad,) = torchlike.autograd.grad((weight * data).sum(), [weight])
    assert grad.tolist() == data.tolist()


def test_nested_pipelines_use_each_others_tensors(data):
    with dc.pipeline():
        outer = data * 2
        with dc.pipeline():
            inner = outer + 1
            outer.add_(100)
        outer.add_(inner)
    assert inner.tolist() == [[3, 5], [7, 9]]
    assert outer.tolist() == [[105, 109], [113, 117]]


def test_another_thread_may_read_a_pending_tensor(data):
    with dc.pipeline(), ThreadPoolExecutor(4) as pool:
        value = (data * 2).add_(1)
        found = [pool.submit(read).result(WAIT) for read in (value.tolist, value.numpy().tolist, (value + 0).tolist)]
    assert found == [[[3, 5], [7, 9]]] * 3


@pytest.mark.parametrize("name", ["rand", "expand", "addmm", "step"])
def test_operators_that_the_predecessors_refused_work(data, name):
    def program():
        torchlike.manual_seed(3)
        match name:
            case "rand":
                return torchlike.rand(3)
            case "expand":
                return data[:, :1].expand(2, 5)
            case "addmm":
                return torchlike.addmm(data, data, data)
            case "step":
                weight = torchlike.ones(2, 2, requires_grad=True)
                (weight * data).sum().backward()
                torchlike.optim.SGD([weight], lr=0.1).step()
                return weight.detach()

    expected = program().tolist()
    with dc.pipeline():
        found = program()
    assert found.tolist() == expected


def test_max_bytes_counts_the_sum_of_the_results(data):
    """Eleven results of 80 bytes under a limit of 100 never flushed."""
    with dc.pipeline(max_bytes=100) as pipe:
        kept = [torchlike.ones(20) * number for number in range(1, 4)]
        assert pipe.stats().flushes >= 2
    assert kept[2].tolist() == [3] * 20


def test_views_take_no_bytes(data):
    with dc.pipeline(max_bytes=100) as pipe:
        value = data * 2
        kept = [value.view(4) for _ in range(20)]
        assert pipe.stats().flushes == 0
    assert kept[3].tolist() == [2, 4, 6, 8]


def test_a_long_block_that_reads_in_between_keeps_no_inputs():
    with dc.pipeline():
        first = torchlike.ones(3)
        total = (first * 2).sum().item()
        gone = weakref.ref(first)
        memory = weakref.ref(first.numpy().base if first.numpy().base is not None else first.numpy())
        del first
        gc.collect()
        assert total == 6
        assert gone() is None
        assert memory() is None


# Hooks, threads, tasks.


def test_a_value_read_in_a_hook_is_computed(data):
    seen = []
    weight = torchlike.ones(2, 2, requires_grad=True)
    with dc.pipeline():
        value = weight * data
        value.register_hook(lambda grad: seen.append(grad.tolist()) or grad * 2)
        value.sum().backward()
        assert seen == [[[1, 1], [1, 1]]]
    assert weight.grad.tolist() == (data * 2).tolist()


def test_a_hook_that_fails_leaves_the_pipeline_usable(data):
    weight = torchlike.ones(2, 2, requires_grad=True)

    def hook(grad):
        raise LookupError("hook")

    with dc.pipeline():
        value = weight * data
        value.register_hook(hook)
        with pytest.raises(LookupError, match="hook"):
            value.sum().backward()
        after = data + 1
    assert after.tolist() == [[2, 3], [4, 5]]
    assert value.tolist() == data.tolist()


def test_progress_may_read_tensors(data):
    seen = []
    with dc.pipeline(progress=lambda done, total: seen.append((done, total, first.sum().item()))):
        first = data * 2
        second = first + 1
    assert {each[2] for each in seen} <= {20.0}
    assert second.tolist() == [[3, 5], [7, 9]]


def test_threads_train_in_pipelines_of_their_own():
    def train(seed):
        generator = np.random.default_rng(seed)
        x = torchlike.from_numpy(generator.standard_normal((8, 3)).astype("float32"))
        weight = torchlike.ones(3, 2, requires_grad=True)
        optimizer = torchlike.optim.SGD([weight], lr=0.1)
        for _ in range(5):
            loss = ((x @ weight) ** 2).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return loss.item(), weight.tolist()

    def in_pipeline(seed):
        with dc.pipeline():
            return train(seed)

    expected = [train(seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(in_pipeline, range(4))) == expected


def test_two_threads_read_each_others_tensors(data):
    tensors, barrier = {}, threading.Barrier(2)

    def run(mine, other):
        with dc.pipeline():
            for number in range(50):
                tensors[mine, number] = data * number + mine
                barrier.wait(WAIT)
                assert (tensors[other, number] + 0).tolist() == (data * number + other).tolist()
        return True

    with ThreadPoolExecutor(2) as pool:
        assert [future.result(WAIT) for future in (pool.submit(run, 1, 2), pool.submit(run, 2, 1))] == [True, True]


def test_tasks_have_the_pipeline_of_their_context(data):
    async def task(number, go):
        early = data * number
        await go.wait()
        return early, early + data, dc.current_pipeline()

    async def main():
        go = asyncio.Event()
        with dc.pipeline() as pipe:
            tasks = [asyncio.create_task(task(number, go)) for number in range(3)]
            await asyncio.sleep(0)
            assert pipe.stats().recorded == 3
        go.set()
        return await asyncio.gather(*tasks)

    for number, (early, late, session) in enumerate(asyncio.run(main())):
        assert session is None
        assert torchlike.equal(early, data * number)
        assert torchlike.equal(late, data * (number + 1))


# Layers.


def test_a_profile_counts_each_call_once(data):
    with dc.profile() as eager:
        (data * 2 + 1).sum().item()
    with dc.profile() as deferred, dc.pipeline():
        (data * 2 + 1).sum().item()
    assert [(row.name, row.calls) for row in deferred.key_averages()] == [
        (row.name, row.calls) for row in eager.key_averages()
    ]


def test_a_trace_around_a_pipeline_is_the_trace_without(data):
    def program():
        weight = torchlike.ones(2, 2, requires_grad=True)
        value = (weight * data).relu()
        return value.sum()

    with dc.trace() as eager:
        program()
    with dc.trace() as deferred, dc.pipeline():
        program()
    assert str(deferred) == str(eager)


def test_explain_tells_of_the_pipeline(data):
    with dc.pipeline():
        text = str(dc.explain(dc.ops.aten.add.Tensor, data, data))
    assert "Pipeline" in text
