"""Functions beside those of the cpu's cases: values, gradients, layouts and scalar types against the cpu."""

from functools import partial

import pytest

torchlike = pytest.importorskip("torchlike", reason="programs are torch's")

F = torchlike.nn.functional
pytestmark = pytest.mark.usefixtures("npu")

FLOATS = ("float32", "float16", "bfloat16", "float64")
SPECIAL = [float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 0.5, -0.5, 3.0]
SHAPES = {"matrix": (4, 3), "batch": (2, 3, 5), "empty": (0, 3), "number": ()}

#: Operators of one tensor with a gradient → the call, and the function that a float32 goes to.
ONE = {
    "hardshrink": (partial(F.hardshrink, lambd=0.4), "aclnnHardshrink"),
    "hardshrink of all": (partial(F.hardshrink, lambd=-1.0), "aclnnHardshrink"),
    "softshrink": (partial(F.softshrink, lambd=0.3), "aclnnSoftshrink"),
    "softshrink of none": (partial(F.softshrink, lambd=0.0), "aclnnSoftshrink"),
    "sinc": (torchlike.sinc, "aclnnSinc"),
    "mish": (F.mish, "aclnnMish"),
    "nansum": (torchlike.nansum, "aclnnReduceNansum"),
}


def draw(shape, dtype, seed=3):
    """Return numbers on the cpu, some of them special where there is room."""
    torchlike.manual_seed(seed)
    x = torchlike.randn(shape)
    return x.to(getattr(torchlike, dtype))


def strides(x):
    """Return the strides that elements show."""
    return [stride for size, stride in zip(x.shape, x.stride(), strict=True) if size > 1] if x.numel() else []


def assert_like(found, expected, tolerance=1e-5):
    if isinstance(expected, (tuple, list)):
        for one, other in zip(found, expected, strict=True):
            assert_like(one, other, tolerance)
        return
    assert (found.shape, found.dtype, strides(found)) == (expected.shape, expected.dtype, strides(expected))
    same = torchlike.allclose(
        found.cpu().double(), expected.double(), rtol=tolerance, atol=tolerance, equal_nan=expected.is_floating_point()
    )
    assert same, (found, expected)


def operators(simulator):
    """Return the functions that ran."""
    return [name for name in simulator.log() if name.startswith("aclnn") and not name.endswith("WorkspaceSize")]


TOLERANCES = {"float16": 4e-3, "bfloat16": 3e-2}


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SHAPES)
def test_operators_of_one_tensor(name, dtype, shape):
    call, _ = ONE[name]
    x = draw(SHAPES[shape], dtype)
    for view in (lambda x: x, lambda x: x.mT if x.ndim > 1 else x, lambda x: x[..., 1:] if x.ndim else x):
        results = []
        for device in ("cpu", "npu"):
            given = x.to(device).requires_grad_()
            y = call(view(given))
            results.append([y.detach(), torchlike.autograd.grad((y * 2).sum(), given)[0]])
        # The slope of sinc is a difference of numbers that are almost equal.
        tolerance = TOLERANCES.get(dtype, 1e-5) * (8 if name == "sinc" else 1)
        assert_like(results[1], results[0], tolerance)


@pytest.mark.parametrize("name", ONE)
def test_special_numbers(name):
    x = torchlike.tensor(SPECIAL)
    assert_like(ONE[name][0](x.to("npu")), ONE[name][0](x))


@pytest.mark.parametrize("name", [name for name in ONE if name != "nansum"])  # a short way: see test_short_ways.py
@pytest.mark.of_functions
@pytest.mark.no_pipeline(reason="a pipeline runs them later")
def test_each_is_one_function(name, simulator):
    call, function = ONE[name]
    x = draw((3, 4), "float32").to("npu")
    simulator.reset()
    call(x)
    assert operators(simulator) == [function]


@pytest.mark.parametrize("dtype", [*FLOATS, "int64", "uint8", "bool"])
def test_finite_numbers(dtype, host_calls):
    x = torchlike.tensor(SPECIAL[3:] if dtype in ("int64", "uint8", "bool") else SPECIAL).to(getattr(torchlike, dtype))
    for each in (x, x.reshape(2, -1).t() if x.numel() % 2 == 0 else x, x[:0], x[0]):
        assert_like(torchlike.isfinite(each.to("npu")), torchlike.isfinite(each))
    assert not torchlike.isfinite(torchlike.ones(2, device="npu", requires_grad=True)).requires_grad
    assert not host_calls()


@pytest.mark.parametrize("dtype", [*FLOATS, "int64", "bool"])
@pytest.mark.parametrize("equal_nan", [False, True])
def test_close_numbers(dtype, equal_nan, host_calls):
    dtype = getattr(torchlike, dtype)
    x = (
        torchlike.tensor([*SPECIAL, 1.0, 100.0, -7.0, float("nan")]).nan_to_num(0)
        if not dtype.is_floating_point
        else (torchlike.tensor([*SPECIAL, 1.0, 100.0, -7.0, float("nan")]))
    )
    x = x.to(dtype)
    for other in (x, x.flip(0), x[:1], x.logical_not().to(dtype)):
        for rtol, atol in ((1e-5, 1e-8), (0.0, 0.0), (0.3, 0.5)):
            expected = torchlike.isclose(x, other, rtol=rtol, atol=atol, equal_nan=equal_nan)
            found = torchlike.isclose(x.to("npu"), other.to("npu"), rtol=rtol, atol=atol, equal_nan=equal_nan)
            assert_like(found, expected)
    assert not host_calls()


def test_comparisons_that_are_refused():
    x = torchlike.ones(2, device="npu")
    with pytest.raises(RuntimeError, match="rtol must be greater than or equal to zero"):
        torchlike.isclose(x, x, rtol=-1.0)
    with pytest.raises(RuntimeError, match="did not match"):
        torchlike.isclose(x, x.double())
    with pytest.raises(RuntimeError, match="lambda must be in range"):
        F.softshrink(x, -0.5)
    with pytest.raises(RuntimeError, match="expected a matrix"):
        torchlike.trace(x)
    with pytest.raises(RuntimeError, match="at least 2 dimensions"):
        torchlike.renorm(x, 2, 0, 1.0)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("beta", [1.0, 0.3, 0.0])
def test_the_smooth_absolute_loss_and_its_gradient(dtype, reduction, beta):
    for shape in SHAPES.values():
        results = []
        for device in ("cpu", "npu"):
            x = draw(shape, dtype).to(device).requires_grad_()
            y = draw(shape, dtype, 4).to(device).requires_grad_()
            loss = F.smooth_l1_loss(x, y, reduction=reduction, beta=beta)
            results.append([loss.detach(), *torchlike.autograd.grad((loss * 3).sum(), (x, y))])
        assert_like(results[1], results[0], TOLERANCES.get(dtype, 1e-5))


@pytest.mark.of_functions
@pytest.mark.no_pipeline(reason="a pipeline runs them later")
@pytest.mark.parametrize(
    ("call", "function"),
    [
        (F.hardshrink, "aclnnHardshrinkBackward"),
        (F.softshrink, "aclnnSoftshrinkBackward"),
        (lambda x: F.smooth_l1_loss(x, x.detach() * 2, reduction="none"), "aclnnSmoothL1LossBackward"),
    ],
)
def test_a_gradient_is_one_function(call, function, simulator):
    x = draw((3, 4), "float32").to("npu").requires_grad_()
    y, grad = call(x), torchlike.ones(3, 4, device="npu")
    simulator.reset()
    torchlike.autograd.grad(y, x, grad)
    assert operators(simulator) == [function]


@pytest.mark.parametrize("call", [F.mish, lambda x: torchlike.renorm(x, 2, 0, 0.7), torchlike.trace, torchlike.nansum])
def test_second_derivatives_of_composites(call):
    x = draw((3, 3), "float64").to("npu").requires_grad_()
    assert torchlike.autograd.gradcheck(call, (x,))
    assert torchlike.autograd.gradgradcheck(call, (x,))


@pytest.mark.parametrize("dtype", [*FLOATS, "int64", "int32", "uint8"])
def test_sums_of_diagonals(dtype, host_calls):
    x = (draw((4, 3), "float32") * 9).abs().to(getattr(torchlike, dtype))
    for each in (x, x.t(), x[1:, :2], x[:0]):
        assert_like(each.to("npu").trace(), each.trace(), TOLERANCES.get(dtype, 1e-5))
    assert not host_calls()


@pytest.mark.parametrize("dtype", [*FLOATS, "int64"])
@pytest.mark.parametrize("dim", [None, 0, -1, (0, 1), ()])
@pytest.mark.parametrize("keepdim", [False, True])
def test_sums_without_nan(dtype, dim, keepdim, host_calls):
    x = draw((4, 3), "float32")
    if dtype != "int64":
        x[1, 2] = x[0, 0] = float("nan")
    x = x.to(getattr(torchlike, dtype))
    for each in (x, x.t(), x[:, :0]):
        assert_like(each.to("npu").nansum(dim, keepdim), each.nansum(dim, keepdim), TOLERANCES.get(dtype, 1e-5))
    assert_like(x.to("npu").nansum(dim, dtype=torchlike.float32), x.nansum(dim, dtype=torchlike.float32), 3e-2)
    assert not host_calls()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("p", [1, 2, 0.5, 3.0, float("inf")])
def test_slices_that_are_shortened(dtype, p, host_calls):
    x = draw((2, 3, 4), dtype)
    for dim in (0, 1, -1):
        for each in (x, x.transpose(0, 2), x[:0] if p < 9 else x[1:]):
            found, expected = each.to("npu").renorm(p, dim, 0.9), each.renorm(p, dim, 0.9)
            assert_like(found, expected, TOLERANCES.get(dtype, 1e-5))
    assert not host_calls()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int64", "uint8"])
def test_cross_products_and_logarithms_of_sums(dtype):
    x, y = draw((4, 3), "float32") * 4, draw((2, 4, 3), "float32", 5) * 4
    x, y = (each.abs().to(getattr(torchlike, dtype)) for each in (x, y))
    for one, other in ((y, y.flip(0)), (x[None], y), (y, x[:1][None]), (y[:0], y[:0])):
        assert_like(
            torchlike.linalg.cross(one.to("npu"), other.to("npu")),
            torchlike.linalg.cross(one, other),
            TOLERANCES.get(dtype, 1e-4),
        )
    assert_like(
        torchlike.linalg.cross(y.mT.to("npu"), y.mT.to("npu").flip(0), dim=1),
        torchlike.linalg.cross(y.mT, y.mT.flip(0), dim=1),
        TOLERANCES.get(dtype, 1e-4),
    )
    if x.is_floating_point():
        for one, other in ((x, y), (x * 0 - float("inf"), y), (x[:0], x[:0]), (x[0, 0], y)):
            assert_like(
                torchlike.logaddexp2(one.to("npu"), other.to("npu")),
                torchlike.logaddexp2(one, other),
                TOLERANCES.get(dtype, 1e-5),
            )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (2, 3, 3), (1, 1), (2, 0, 3, 2), (0, 2)])
def test_factors_of_matrices(dtype, mode, shape):
    a = draw(shape, dtype)
    if a.numel() > 4:
        a[..., 0] = 0.0
    for each in (a, a.mT):
        assert_like(torchlike.linalg.qr(each.to("npu"), mode), torchlike.linalg.qr(each, mode), 1e-4)


@pytest.mark.of_functions
@pytest.mark.no_pipeline(reason="a pipeline runs them later")
def test_factors_of_matrices_have_gradients_and_leave_the_host(simulator, host_calls):
    results = []
    for device in ("cpu", "npu"):
        a = draw((4, 3), "float32").to(device).requires_grad_()
        q, r = torchlike.linalg.qr(a)
        results.append(torchlike.autograd.grad((q * 2).sum() + r.square().sum(), a)[0])
    assert_like(results[1], results[0], 1e-3)
    assert "aclnnLinalgQr" in operators(simulator)
    assert "aten::linalg_qr" not in host_calls()


@pytest.mark.parametrize(
    ("name", "more"),
    [("linalg_cross", ()), ("logaddexp2", ()), ("softshrink_backward", (0.3,)), ("hardshrink_backward", (0.3,))],
)
@pytest.mark.parametrize("dtypes", [("float32", "float16"), ("float16", "float32"), ("float64", "float32")])
def test_scalar_types_may_differ(name, more, dtypes):
    call = getattr(torchlike.ops.aten, name)
    x, y = draw((2, 3), dtypes[0]), draw((2, 3), dtypes[1], 4)
    assert_like(call(x.to("npu"), y.to("npu"), *more), call(x, y, *more), 4e-3)


#: Composite → a call of it that comes to each of its parts.
COMPOSITES = {
    "mish_backward": lambda aten, x, y, times: aten.mish_backward(x, y),
    "isclose": lambda aten, x, y, times: aten.isclose(x, y, 1e-5, 1e-8, True),
    "nansum": lambda aten, x, y, times: aten.nansum(x, [0]),
    "trace": lambda aten, x, y, times: aten.trace(x),
    "renorm": lambda aten, x, y, times: aten.renorm(x, 2, 0, 0.5),
    "repeat_interleave.self_Tensor": lambda aten, x, y, times: (
        aten.repeat_interleave.self_Tensor(x, times, 0),
        aten.repeat_interleave.self_Tensor(x, times),
    ),
}


@pytest.mark.no_pipeline(reason="asks which operators the dispatcher calls")
@pytest.mark.parametrize("name", COMPOSITES)
def test_a_short_way_names_the_parts_of_its_composite(name, npu):
    from dispatch_backend_npu.kernels import SHORT_WAYS
    from torchlike.utils._python_dispatch import TorchDispatchMode

    assert COMPOSITES.keys() == SHORT_WAYS.keys()
    called = set()

    class Parts(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            called.add(func.name.removeprefix("aten::"))
            return func(*args, **(kwargs or {}))

    x, y = draw((3, 3), "float32").to("npu"), draw((3, 3), "float32", 4).to("npu")
    times = torchlike.tensor(2, device="npu")
    with Parts():
        COMPOSITES[name](torchlike.ops.aten, x, y, times)
    _, options = SHORT_WAYS[name]
    assert called <= set(options["parts"])
