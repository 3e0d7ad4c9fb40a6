"""Autocast: blocks, their settings and lists, the cache of casts, captured calls, pipelines, other devices, threads."""

import asyncio
import gc
import threading
import warnings
import weakref

import pytest

import dispatch_core as dc
import torchlike
from dispatch_aten.operators import ATEN_BY_NAME
from torchlike import bfloat16, float16, float32, float64, nn
from torchlike.amp.kernels import policies_of

pytestmark = pytest.mark.no_pipeline(reason="casts in pipelines are looked at by name")


@pytest.fixture
def x():
    torchlike.manual_seed(0)
    return torchlike.randn(4, 4)


@pytest.fixture
def weight():
    torchlike.manual_seed(1)
    return torchlike.randn(4, 4).requires_grad_()


def count_casts(function):
    """Return how many times a call converts a tensor."""
    with dc.profile() as profile:
        function()
    return sum(event.name == "aten::_to_copy" for event in profile.events)


def test_a_block_casts_and_outside_of_it_nothing_is_cast(x):
    with torchlike.autocast("cpu", dtype=bfloat16):
        product = x @ x
        assert (product.dtype, torchlike.is_autocast_enabled("cpu")) == (bfloat16, True)
        assert nn.functional.mse_loss(product, x).dtype is float32
        assert torchlike.cat([product, x]).dtype is float32
        assert [each(product).dtype for each in (torchlike.exp, torchlike.sum, torchlike.norm)] == [bfloat16] * 3
        assert torchlike.softmax(product, -1).dtype is bfloat16
    assert (x @ x).dtype is float32
    assert not torchlike.is_autocast_enabled("cpu")


def test_blocks_nest_and_one_may_turn_autocast_off(x):
    seen = []
    with torchlike.autocast("cpu", dtype=bfloat16):
        with torchlike.autocast("cpu", dtype=float16):
            seen.append((x @ x).dtype)
            with torchlike.autocast("cpu", enabled=False):
                seen.append((x @ x).dtype)
                with torchlike.autocast("cpu"):
                    seen.append((x @ x).dtype)
            seen.append((x @ x).dtype)
        seen.append((x @ x).dtype)
    assert seen == [float16, float32, float16, float16, bfloat16]


def test_one_block_may_be_entered_inside_itself_and_again(x):
    block = torchlike.autocast("cpu")
    for _ in range(2):
        with block, block:
            assert (x @ x).dtype is bfloat16
        assert (x @ x).dtype is float32


def test_a_block_ends_with_an_error(x):
    with pytest.raises(KeyError), torchlike.autocast("cpu"):
        raise KeyError
    assert (x @ x).dtype is float32
    assert torchlike.autocast_increment_nesting() == 1
    assert torchlike.autocast_decrement_nesting() == 0


def test_functions_methods_and_generators_are_decorated(x):
    @torchlike.autocast("cpu", dtype=bfloat16)
    def product(x):
        """Multiply."""
        return x @ x

    class Net(nn.Module):
        @torchlike.autocast("cpu")
        def forward(self, x):
            return x @ x

    @torchlike.autocast("cpu")
    def products(x):
        yield x @ x
        yield x @ x

    assert (product(x).dtype, Net()(x).dtype, product.__doc__) == (bfloat16, bfloat16, "Multiply.")
    dtypes = []
    for made in products(x):
        dtypes += [made.dtype, (x @ x).dtype]
    assert dtypes == [bfloat16, float32] * 2


def test_threads_may_call_one_decorated_function_at_once(x):
    both, seen = threading.Barrier(2), []

    @torchlike.autocast("cpu")
    def product():
        both.wait()
        made = (x @ x).dtype
        both.wait()
        return made

    def run():
        for _ in range(3):
            seen.append((product(), (x @ x).dtype))

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [(bfloat16, float32)] * 6


def test_float64_integers_and_what_is_written_to_are_not_cast(x):
    with torchlike.autocast("cpu"):
        assert (x.double() @ x.double()).dtype is float64
        assert (
            torchlike.ones(2, 2, dtype=torchlike.int64) @ torchlike.ones(2, 2, dtype=torchlike.int64)
        ).dtype.is_signed
        out = torchlike.empty(4, 4)
        assert torchlike.mm(x, x, out=out) is out
        assert torchlike.equal(out, x @ x) is False  # which is rounded to bfloat16
        total = torchlike.zeros(4, 4)
        assert total.addmm_(x, x).dtype is float32
        with pytest.raises(RuntimeError, match="dtype"):
            torchlike.mm(x, x.bfloat16(), out=out)
    torchlike.testing.assert_close(out, x @ x)
    torchlike.testing.assert_close(total, x @ x)


def test_results_do_not_depend_on_whether_a_gradient_is_needed(x):
    calls = [
        torchlike.var, torchlike.logsumexp, nn.functional.gelu, torchlike.linalg.vector_norm, nn.functional.softplus,
        torchlike.std, torchlike.cumsum, torchlike.prod, torchlike.addcmul, torchlike.vdot, torchlike.renorm,
        nn.functional.layer_norm, nn.functional.cosine_similarity, torchlike.linalg.pinv, torchlike.matrix_exp,
    ]  # fmt: skip

    def more(half):
        return {
            torchlike.logsumexp: (0,), torchlike.cumsum: (0,), torchlike.addcmul: (half, half),
            torchlike.renorm: (2, 0, 1.0), nn.functional.layer_norm: ((4,),), nn.functional.cosine_similarity: (half,),
        }  # fmt: skip

    for call in calls:
        for device, half in (("cpu", x.bfloat16()), ("meta", x.half())):
            first, rest = (half[0], (half[1],)) if call is torchlike.vdot else (half, more(half).get(call, ()))
            args = [each.to(device) if isinstance(each, torchlike.Tensor) else each for each in (first, *rest)]
            with torchlike.autocast(device):
                try:
                    plain = call(*args).dtype
                except dc.DispatchError:
                    continue
                recorded = call(args[0].detach().requires_grad_(), *args[1:])
            assert (recorded.dtype, recorded.requires_grad) == (plain, True), (call, device)


def test_gradients_pass_the_casts_and_arrive_in_the_leafs_dtype(x, weight):
    with torchlike.autocast("cpu"):
        loss = nn.functional.mse_loss(nn.functional.linear(x, weight), x)
    loss.backward()
    expected = weight.grad.clone()
    weight.grad = None
    nn.functional.mse_loss(nn.functional.linear(x, weight), x).backward()
    assert expected.dtype is float32
    torchlike.testing.assert_close(expected, weight.grad, rtol=0.05, atol=0.02)


def test_a_block_for_one_device_leaves_the_others_alone(x):
    there = x.to("meta")
    with torchlike.autocast("cpu"):
        assert (there @ there).dtype is float32
        with torchlike.autocast("meta"):
            assert ((there @ there).dtype, (x @ x).dtype) == (float16, bfloat16)
            with torchlike.autocast("cpu", enabled=False):
                assert ((there @ there).dtype, (x @ x).dtype) == (float16, float32)
    with torchlike.autocast("meta"):
        assert (x @ x).dtype is float32


def test_other_devices_follow_the_lists_of_cuda(x):
    half = x.to("meta").half()
    with torchlike.autocast("meta"):
        for function in (torchlike.exp, torchlike.sum, torchlike.norm, nn.functional.gelu):
            assert function(half).dtype is (float16 if function is nn.functional.gelu else float32)
        assert torchlike.softmax(half, -1).dtype is float32
        assert torchlike.sum(half, dtype=float16).dtype is float16
        assert torchlike.norm(half.double()).dtype is float64
        assert torchlike.dot(half[0], half[0].float()).dtype is float32
        with pytest.raises(RuntimeError, match="binary_cross_entropy_with_logits and BCEWithLogits are"):
            nn.functional.binary_cross_entropy(half, half)


def test_raw_arrays_and_other_frontends_tensors_pass(x):
    class Box:
        __slots__ = ("_dispatch_data", "_dispatch_mask")

    array = x.numpy()
    box = dc.register_frontend("autocast_boxes", Box).wrap(array)
    with torchlike.autocast("cpu"):
        assert dc.ops.aten.mm(array, array).dtype == array.dtype
        assert dc.ops.aten.mm(box, box)._dispatch_data.dtype == array.dtype
        assert dc.ops.aten.mse_loss(box, box)._dispatch_data.dtype == array.dtype


def test_a_leaf_is_cast_once_in_a_block(x, weight):
    narrow = x.bfloat16()

    def run(**options):
        with torchlike.autocast("cpu", **options):
            for _ in range(3):
                nn.functional.linear(narrow, weight)

    assert count_casts(run) == 1
    assert count_casts(lambda: run(cache_enabled=False)) == 3


def test_the_cache_is_dropped_at_the_outermost_exit_and_when_it_is_cleared(x, weight):
    def product():
        return nn.functional.linear(x, weight)

    with torchlike.autocast("cpu"):
        product()
        with torchlike.autocast("cpu"):
            assert count_casts(product) == 1  # x alone
        assert count_casts(product) == 1
        torchlike.clear_autocast_cache()
        assert count_casts(product) == 2
    with torchlike.autocast("cpu"):
        assert count_casts(product) == 2


def test_the_cache_keeps_no_leaf_alive(x):
    with torchlike.autocast("cpu"):
        leaf = torchlike.ones(4, 4, requires_grad=True)
        x @ leaf
        alive = weakref.ref(leaf)
        del leaf
        gc.collect()
        assert alive() is None


def test_a_cast_under_no_grad_is_not_used_for_a_gradient(x, weight):
    with torchlike.autocast("cpu"):
        with torchlike.no_grad():
            assert not (x @ weight).requires_grad
        (x @ weight).sum().backward()
    assert weight.grad is not None


def test_two_steps_of_an_optimizer_in_one_block_see_the_new_weights(x, weight):
    optimizer = torchlike.optim.SGD([weight], lr=0.1)
    losses = []
    with torchlike.autocast("cpu"):
        for _ in range(3):
            optimizer.zero_grad()
            loss = (x @ weight).float().square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    assert losses[0] > losses[1] > losses[2]


def test_writes_by_data_are_seen(x, weight):
    def product():
        return (x @ weight).float()

    with torchlike.autocast("cpu"):
        once = product()
        weight.data.mul_(2)
        twice = product()
        weight.data = weight.detach() * 2
        torchlike.testing.assert_close(product(), once * 4)
        assert count_casts(product) == 2 + 1
    torchlike.testing.assert_close(twice, once * 2)


def test_several_backwards_may_use_one_cast(x, weight):
    with torchlike.autocast("cpu"):
        for _ in range(2):
            (x @ weight).sum().backward()
        once = weight.grad.clone()
        (x @ weight).sum().backward()
    torchlike.testing.assert_close(weight.grad, once * 1.5)


def test_settings_are_those_of_the_thread_and_the_task(x):
    seen = []
    with torchlike.autocast("cpu"):
        thread = threading.Thread(target=lambda: seen.append((x @ x).dtype))
        thread.start()
        thread.join()
    assert seen == [float32]

    async def run(dtype, block):
        with torchlike.autocast("cpu", dtype=dtype, enabled=block):
            for _ in range(2):
                await asyncio.sleep(0)
                made = (x @ x).dtype
        await asyncio.sleep(0)
        return made, (x @ x).dtype

    async def both():
        return await asyncio.gather(run(bfloat16, True), run(float16, True), run(bfloat16, False))

    assert asyncio.run(both()) == [(bfloat16, float32), (float16, float32), (float32, float32)]


def test_settings_may_be_set_without_a_block(x):
    def run():
        torchlike.set_autocast_enabled("cpu", True)
        torchlike.set_autocast_dtype("cpu", float16)
        torchlike.set_autocast_cache_enabled(False)
        assert torchlike.get_autocast_dtype("cpu") is float16
        assert not torchlike.is_autocast_cache_enabled()
        seen.append((x @ x).dtype)
        torchlike.set_autocast_enabled("cpu", False)
        seen.append((x @ x).dtype)

    seen = []
    thread = threading.Thread(target=run)  # the settings of this one stay as they are
    thread.start()
    thread.join()
    assert seen == [float16, float32]
    assert (torchlike.get_autocast_dtype("cpu"), torchlike.get_autocast_dtype("meta")) == (bfloat16, float16)


def test_a_pipeline_runs_what_a_block_casts(x, weight):
    with torchlike.autocast("cpu"):
        now = nn.functional.linear(x, weight)
        with torchlike.pipeline():
            later = nn.functional.linear(x, weight)
            assert count_casts(lambda: nn.functional.linear(x, weight)) == 1
            assert later.dtype is bfloat16
        assert count_casts(lambda: nn.functional.linear(x, weight)) == 2  # a pipeline's casts are its own
    assert torchlike.equal(now, later)
    with torchlike.pipeline(), torchlike.autocast("cpu"):
        inside = nn.functional.linear(x, weight)
    assert torchlike.equal(now, inside)


@pytest.mark.parametrize("where", ["inside", "outside"])
def test_captured_calls_cast_the_weights_that_are_there(x, where):
    torchlike.manual_seed(0)
    net = nn.Linear(4, 4)
    optimizer = torchlike.optim.SGD(net.parameters(), lr=0.1)

    def step(x):
        optimizer.zero_grad()
        if where == "inside":
            with torchlike.autocast("cpu"):
                loss = net(x).float().square().mean()
        else:
            loss = net(x).float().square().mean()
        loss.backward()
        optimizer.step()
        return loss

    def run(step):
        losses = []
        for _ in range(5):
            with torchlike.autocast("cpu", enabled=where == "outside"):
                net(x)  # which keeps casts
                losses.append(step(x).item())
        return losses

    state = {name: value.clone() for name, value in net.state_dict().items()}
    expected = run(step)
    net.load_state_dict(state)
    captured = torchlike.capture(step)
    found = run(captured)
    assert found == pytest.approx(expected, rel=1e-5)
    assert found[0] > found[-1]
    assert captured.stats().replays > 0


def test_a_captured_call_is_replayed_only_with_the_settings_of_its_recording(x):
    captured = torchlike.capture(lambda x: x @ x)
    for dtype in (bfloat16, float16, None, bfloat16, float16, None) * 2:
        with torchlike.autocast("cpu", dtype=dtype, enabled=dtype is not None):
            assert captured(x).dtype is (dtype or float32)


def test_a_devices_kernels_can_be_added_to_by_a_program(x):
    with dc.Library("aten", "IMPL", "AutocastCPU") as library:
        library.impl(
            "exp", lambda keyset, x: dc.ops.aten.exp.redispatch(keyset - "AutocastCPU", x.double()), with_keyset=True
        )
        with torchlike.autocast("cpu"):
            assert (torchlike.exp(x).dtype, (x @ x).dtype) == (float64, bfloat16)
    with torchlike.autocast("cpu"):
        assert torchlike.exp(x).dtype is float32


def test_a_keyset_that_names_autocast_is_obeyed(x, weight):
    mm = dc.ops.aten.mm.default
    with torchlike.autocast("cpu"):
        for mask in (
            dc.DispatchKeySet(["AutocastCPU", "AutogradCPU", "CPU"]),
            dc.DispatchKeySet(["AutocastCPU", "CPU"]),
        ):
            made = mm.redispatch(mask.mask | x._dispatch_mask, x, weight)
            assert (made.dtype, made.requires_grad) == (bfloat16, "AutogradCPU" in str(mask))


@pytest.mark.parametrize("layer", ["LSTM", "GRU", "RNN"])
def test_recurrent_layers_of_other_devices_compute_in_half_as_those_of_cuda_do(layer):
    net = getattr(nn, layer)(3, 4, num_layers=2, bidirectional=True).to("meta")
    for inputs in (torchlike.ones(5, 2, 3, device="meta"), torchlike.ones(5, 3, device="meta").half()):
        with torchlike.autocast("meta", dtype=bfloat16):
            output, state = net(inputs)
        assert {each.dtype for each in (output, *(state if layer == "LSTM" else [state]))} == {bfloat16}
        output.sum().backward()
        assert {each.grad.dtype for each in net.parameters()} == {float32}


def test_profiles_and_traces_change_no_dtype_and_see_the_casts(x, weight):
    cell = nn.GRU(4, 4)

    def run():
        with torchlike.autocast("cpu"):
            return [nn.functional.linear(x, weight), torchlike.std(x @ x), cell(x)[0], nn.functional.mse_loss(x @ x, x)]

    expected = [each.dtype for each in run()]
    with dc.profile() as profile:
        assert [each.dtype for each in run()] == expected
    assert "aten::_to_copy" in {event.name for event in profile.events}
    with dc.trace() as trace:
        assert [each.dtype for each in run()] == expected
    assert "aten::_to_copy" in str(trace)
    with torchlike.autograd.graph.saved_tensors_hooks(lambda kept: kept, lambda kept: kept):
        assert [each.dtype for each in run()] == expected
    with torchlike.autograd.forward_ad.dual_level():
        assert [each.dtype for each in run()] == expected


def test_modes_see_the_casts(x):
    from torchlike.utils._python_dispatch import TorchDispatchMode

    class Seen(TorchDispatchMode):
        names = ()

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.names += (func.name,)
            return func(*args, **(kwargs or {}))

    with torchlike.autocast("cpu"), Seen() as mode:
        assert (x @ x).dtype is bfloat16
    assert mode.names == ("aten::_to_copy", "aten::_to_copy", "aten::mm")


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_a_checkpoint_computes_again_as_it_did(x, use_reentrant):
    layer, seen = nn.Linear(4, 4), []

    def run(x):
        made = layer(x)
        seen.append(made.dtype)
        return made

    def checkpoint():
        return torchlike.utils.checkpoint.checkpoint(run, x.requires_grad_(), use_reentrant=use_reentrant)

    with torchlike.autocast("cpu"):
        inside = checkpoint()
    outside = checkpoint()
    inside.sum().backward()
    with torchlike.autocast("cpu"):
        outside.sum().backward()
    assert seen == [bfloat16, float32, bfloat16, float32]


def test_levels_of_transforms_cast_as_calls_outside_of_them_do(x, weight):
    seen = []

    def loss(weight, x):
        product = nn.functional.linear(x, weight)
        found = nn.functional.l1_loss(product, x.bfloat16())  # a composite on the list
        seen.append((product.dtype, found.dtype))
        return found

    weight = weight.detach()
    with torchlike.autocast("cpu"):
        loss(weight, x)
        gradient = torchlike.func.grad(loss)(weight, x)
        rows = torchlike.func.vmap(torchlike.func.grad(loss), (None, 0))(weight, torchlike.stack([x, x]))
        with torchlike.autocast("cpu", enabled=False):
            assert torchlike.func.grad(lambda weight: (x @ weight).sum())(weight).dtype is float32
    assert seen == [(bfloat16, float32)] * 3
    assert gradient.dtype is rows.dtype is float32
    torchlike.testing.assert_close(rows[1], gradient, rtol=0.05, atol=0.01)


def test_functionalized_captured_and_deferred_transforms_give_the_same(x, weight):
    from torchlike.func import functionalize, grad, vmap

    weight, rows = weight.detach(), torchlike.stack([x, x])

    def loss(weight, x):
        product = x @ weight
        product.add_(1.0)
        product[0].mul_(2)
        return nn.functional.mse_loss(product, x)

    captured, captured_rows = torchlike.capture(grad(loss)), torchlike.capture(vmap(loss, (None, 0)))
    with torchlike.autocast("cpu"):
        value, gradient = loss(weight, x), grad(loss)(weight, x)
        with torchlike.pipeline():
            later = grad(loss)(weight, x)
        with dc.trace(functional=True) as trace:
            traced = loss(weight, x)
        gradients = [grad(functionalize(loss))(weight, x), functionalize(grad(loss))(weight, x), later]
        gradients += [captured(weight, x) for _ in range(3)]
        values = [functionalize(loss)(weight, x), traced, *functionalize(vmap(loss, (None, 0)))(weight, rows)]
        values += [each for _ in range(3) for each in captured_rows(weight, rows)]
    assert (value.dtype, gradient.dtype) == (float32, float32)
    for each in values:
        torchlike.testing.assert_close(each, value)
    for each in gradients:
        torchlike.testing.assert_close(each, gradient)
    assert "aten::_to_copy" in str(trace)
    assert "aten::add_" not in str(trace)


def test_nested_tensors_are_cast_beside_dense_ones(weight):
    rows = [torchlike.randn(2, 4), torchlike.randn(3, 4)]
    ragged = torchlike.nested.nested_tensor(rows, layout=torchlike.jagged, requires_grad=True)
    with torchlike.autocast("cpu"):
        product = nn.functional.linear(ragged, weight)
        assert (product.dtype, nn.functional.softmax(product, -1).dtype) == (bfloat16, bfloat16)
    product.values().float().sum().backward()
    assert ragged.grad.dtype is weight.grad.dtype is float32


WRONG = {
    "a device that is not there": (
        lambda: torchlike.autocast("toaster"),
        RuntimeError,
        "unsupported autocast device_type",
    ),
    "no name": (lambda: torchlike.autocast("not a device"), RuntimeError, "Invalid device string: 'not a device'"),
    "no name of a device": (lambda: torchlike.amp.is_autocast_available(""), RuntimeError, "Invalid device string: ''"),
    "no string": (
        lambda: torchlike.autocast(torchlike.device("cpu")),
        ValueError,
        "Expected `device_type` of type `str`",
    ),
    "the dtype of no device": (lambda: torchlike.get_autocast_dtype("toaster"), RuntimeError, "Hint: there are cpu"),
    "a device as a number": (lambda: torchlike.is_autocast_enabled(0), TypeError, "must be str, not int"),
    "a switch as a number": (lambda: torchlike.set_autocast_enabled("cpu", 1), TypeError, "must be bool, not int"),
    "one switch as a number": (lambda: torchlike.set_autocast_enabled(1), TypeError, "must be bool, not int"),
    "a dtype as text": (
        lambda: torchlike.set_autocast_dtype("cpu", "bfloat16"),
        TypeError,
        "must be torch.dtype, not str",
    ),
    "a dtype as text, in a block": (
        lambda: torchlike.autocast("cpu", dtype="bfloat16"),
        TypeError,
        r"autocast\(\): argument 'dtype' must be a dtype, not str",
    ),
    "a switch that is None": (
        lambda: torchlike.autocast("cpu", enabled=None),
        TypeError,
        r"autocast\(\): argument 'enabled' must be a bool, not NoneType",
    ),
    "a cache as a number": (lambda: torchlike.set_autocast_cache_enabled(1), TypeError, "must be bool, not int"),
    "a number decorated": (lambda: torchlike.autocast("cpu")(3), TypeError, "requires a callable, but got int"),
    "custom_fwd for a number": (lambda: torchlike.amp.custom_fwd(device_type=1), ValueError, "Expected `device_type`"),
    "custom_bwd for a number": (lambda: torchlike.amp.custom_bwd(device_type=1), ValueError, "Expected `device_type`"),
    "a part that the cpu has not": (lambda: torchlike.cpu.nothing, AttributeError, "no attribute 'nothing'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_arguments_are_refused_by_name(case):
    call, kind, text = WRONG[case]
    with pytest.raises(kind, match=text):
        call()


def test_other_half_precisions_are_not_promoted():
    with torchlike.autocast("cpu"), pytest.raises(RuntimeError, match="Hint: autocast computes in bfloat16"):
        torchlike.cat([torchlike.ones(2, dtype=float16), torchlike.ones(2, dtype=float16)])


@pytest.mark.parametrize("dtype", [float32, float64, torchlike.int32])
def test_a_dtype_that_is_not_supported_disables_with_a_warning(x, dtype):
    with pytest.warns(
        UserWarning, match="target dtype is not supported. Disabling autocast.\nCPU Autocast only supports"
    ):
        block = torchlike.autocast("cpu", dtype=dtype)
    with block:
        assert (x @ x).dtype is float32


def test_the_older_names_warn_and_work(x):
    with pytest.warns(FutureWarning, match="Please use `torch.amp.autocast\\('cpu', args...\\)` instead"):
        block = torchlike.cpu.amp.autocast(dtype=float16)
    with block:
        assert (x @ x).dtype is float16
    with pytest.warns(DeprecationWarning, match="Please use torch.get_autocast_dtype\\('cuda'\\) instead"):
        assert torchlike.get_autocast_gpu_dtype() is float16
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert not torchlike.cuda.amp.autocast()._enabled
    assert [each.category for each in said] == [FutureWarning, UserWarning]


def test_every_listed_name_is_one_of_torchs_operators_or_known_to_be_none_of_ours():
    absent = {name for key in ("CPU", "Meta") for name in policies_of(key)} - ATEN_BY_NAME.keys()
    assert absent == {
        "_addmm_activation", "_convolution.deprecated", "_grid_sampler_2d_cpu_fallback", "_native_multi_head_attention",
        "_scaled_dot_product_flash_attention", "_thnn_fused_gru_cell", "_thnn_fused_lstm_cell",
        "multilabel_margin_loss_forward",
    }  # fmt: skip


def test_one_tensor_is_cast_once_where_nothing_tells(x, monkeypatch):
    from torchlike.amp.kernels import OperatorCasts

    convert, seen = OperatorCasts._convert, []

    def count(self, value, dtype):
        seen.append(dtype)
        return convert(self, value, dtype)

    monkeypatch.setattr(OperatorCasts, "_convert", count)
    multiply = torchlike.linalg.vecdot  # few tests call it: the code that many calls get converts by itself
    with torchlike.autocast("cpu"):
        found = multiply(x, x)
        assert seen == [bfloat16]
        leaf = (x * 1).requires_grad_()
        sum_of_both = multiply(leaf * 1, leaf * 2)
        y = leaf * 1
        seen.clear()
        multiply(y, y).sum().backward()
        assert seen == [bfloat16, bfloat16]  # their gradients are added in float32
        assert [multiply(x, x).tolist() for _ in range(20)] == [found.tolist()] * 20
    low = x.to(bfloat16)
    assert found.tolist() == multiply(low, low).tolist()
    assert sum_of_both.dtype is bfloat16


def test_a_composite_in_a_block_is_the_call_outside(x, weight):
    functions, low = nn.functional, weight.detach().to(bfloat16)
    with torchlike.autocast("cpu"):
        inside = x.matmul(low), functions.linear(x, low, low[0]), functions.linear(x.to(bfloat16), weight)
        assert (x + x).dtype is float32
        with torchlike.autocast("cpu", enabled=False):
            assert (x @ x).dtype is float32
        with pytest.raises(RuntimeError):
            x.matmul(torchlike.ones(3, 3))
        assert (x @ x).dtype is bfloat16
    left = x.to(bfloat16)
    outside = left.matmul(low), functions.linear(left, low, low[0]), functions.linear(left, low)
    assert [each.tolist() for each in inside] == [each.tolist() for each in outside]
