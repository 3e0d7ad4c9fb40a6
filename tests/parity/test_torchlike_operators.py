"""Functions and methods beside torch's: values, dtype, shape, strides, gradients, and the class of errors."""

import numpy as np
import pytest
from comparison import assert_same, flatten, ignore_warnings

import torchlike
from dispatch_aten.variants import functional_of

torch = pytest.importorskip("torch", reason="parity needs torch")

FLOATS = ["float32", "float64"]
INTEGERS = ["int64", "int32", "uint8"]
ALL = [*FLOATS, *INTEGERS, "bool"]
GRADIENT_TOLERANCES = {"float32": 1e-5, "float64": 1e-10, "float16": 1e-2}


def draw(shape, dtype, seed):
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return np.asarray(rng.integers(0, 2, shape), bool)
    if dtype in INTEGERS:
        return np.asarray(rng.integers(1, 9, shape), dtype)
    return np.asarray(rng.uniform(-2, 2, shape), dtype)


def same(theirs, ours):
    """Compare results, and whether they require grad."""
    assert_same(ours, theirs, kind=torchlike.Tensor, strides="elements")
    flags = [[getattr(each, "requires_grad", None) for each in flatten(side)] for side in (ours, theirs)]
    assert flags[0] == flags[1]


def run(function, module, arrays, requires_grad):
    tensors = [module.tensor(array) for array in arrays]
    if requires_grad:
        tensors = [t.requires_grad_() if t.is_floating_point() else t for t in tensors]
    with ignore_warnings():
        return tensors, function(module, *tensors)


def read(value):
    for item in value if isinstance(value, (list, tuple)) else (value,):
        if isinstance(item, torchlike.Tensor) and not item.is_meta:
            item.tolist()


def compare(function, arrays, slack=0.0):
    """Run a function through torch and torchlike, and backward through both where that is possible."""
    differentiable = any(array.dtype.kind == "f" for array in arrays)
    try:
        their_inputs, theirs = run(function, torch, arrays, differentiable)
    except Exception as error:  # noqa: BLE001  # whatever torch raises, we must
        kinds = (IndexError, TypeError, ValueError, NotImplementedError, RuntimeError)
        kind = next(cls for cls in kinds if isinstance(error, cls))
        with pytest.raises(kind):
            # In a pipeline an error that depends on values is raised when the result is asked for.
            read(run(function, torchlike, arrays, differentiable)[1])
        return
    our_inputs, ours = run(function, torchlike, arrays, differentiable)
    same(theirs, ours)
    first = theirs[0] if isinstance(theirs, (tuple, list)) else theirs
    if not isinstance(first, torch.Tensor) or not first.requires_grad:
        return
    weights = draw(tuple(first.shape), str(first.dtype)[6:], 99)
    mine = ours[0] if isinstance(ours, (tuple, list)) else ours
    try:
        first.backward(torch.tensor(weights))
    except RuntimeError:  # torch has no derivative; we may have one
        return
    mine.backward(torchlike.tensor(weights))
    for number, (a, b) in enumerate(zip(their_inputs, our_inputs, strict=True)):
        if a.grad is None:
            assert b.grad is None or not b.grad.any(), f"gradient {number}"
            continue
        assert b.grad is not None, f"gradient {number}"
        tolerance = max(slack, 10 * max(GRADIENT_TOLERANCES.get(str(array.dtype), 0) for array in arrays))
        assert_same(b.grad, a.grad, f"gradient {number}", strides=False, tolerance=(tolerance, tolerance))


def by_name(name):
    return lambda t, *args: getattr(t, name)(*args)


def functional(name, *args, **kwargs):
    return lambda t, x: getattr(t.nn.functional, name)(x, *args, **kwargs)


ELEMENTWISE = {
    name: by_name(name)
    for name in (
        "abs acos acosh asin asinh atan atanh ceil cos cosh erf erfc exp exp2 expm1 floor frac log log10 log1p log2 neg"
        " reciprocal relu round rsqrt sigmoid sign sin sinh sqrt square tan tanh trunc isnan isinf isfinite logical_not"
        " bitwise_not nan_to_num positive"
    ).split()
}
BINARY = {
    name: by_name(name)
    for name in (
        "add sub mul div floor_divide remainder fmod pow atan2 maximum minimum eq ne lt le gt ge logical_and logical_or"
        " logical_xor bitwise_and bitwise_or bitwise_xor"
    ).split()
} | {
    "alpha": lambda t, x, y: t.add(x, y, alpha=2),
    "div trunc": lambda t, x, y: t.div(x, y, rounding_mode="trunc"),
    "div floor": lambda t, x, y: t.div(x, y, rounding_mode="floor"),
    "where": lambda t, x, y: t.where(x > y, x, y),
    "lerp": lambda t, x, y: t.lerp(x, y, 0.25),
    "addcmul": lambda t, x, y: t.addcmul(x, x, y, value=0.5),
}
NUMBERS = {
    "t + n": lambda x, n: x + n,
    "n + t": lambda x, n: n + x,
    "t - n": lambda x, n: x - n,
    "n - t": lambda x, n: n - x,
    "t * n": lambda x, n: x * n,
    "t / n": lambda x, n: x / n,
    "n / t": lambda x, n: n / x,
    "t // n": lambda x, n: x // n,
    "n // t": lambda x, n: n // x,
    "t % n": lambda x, n: x % n,
    "n % t": lambda x, n: n % x,
    "t ** n": lambda x, n: x**n,
    "n ** t": lambda x, n: n**x,
    "t == n": lambda x, n: x == n,
    "t < n": lambda x, n: x < n,
    "n >= t": lambda x, n: n >= x,
    "t & n": lambda x, n: x & n,
    "n | t": lambda x, n: n | x,
    "clamp": lambda x, n: x.clamp(min=n),
    "+=": lambda x, n: x.clone().add_(n),
    "*=": lambda x, n: x.clone().mul_(n),
    "/=": lambda x, n: x.clone().div_(n),
    "**=": lambda x, n: x.clone().pow_(n),
}
SHAPED = {
    "sum": lambda t, x: x.sum(),
    "sum dims": lambda t, x: x.sum((0, 2), keepdim=True),
    "sum dtype": lambda t, x: x.sum(1, dtype=t.float64),
    "mean": lambda t, x: x.mean(-1),
    "prod": lambda t, x: x.prod(1),
    "var": lambda t, x: x.var((0, 1)),
    "std": lambda t, x: x.std(2, unbiased=False),
    "max": lambda t, x: x.max(1),
    "min keepdim": lambda t, x: x.min(0, keepdim=True),
    "max all": lambda t, x: x.max(),
    "amax": lambda t, x: x.amax((0, 2)),
    "argmax": lambda t, x: x.argmax(1),
    "argmin all": lambda t, x: x.argmin(),
    "any": lambda t, x: x.any(1),
    "all": lambda t, x: x.all(),
    "norm": lambda t, x: x.norm(),
    "norm dim": lambda t, x: x.norm(2, 1),
    "logsumexp": lambda t, x: x.logsumexp(1),
    "cumsum": lambda t, x: x.cumsum(2),
    "cumprod": lambda t, x: x.cumprod(0),
    "count_nonzero": lambda t, x: x.count_nonzero(1),
    "softmax": lambda t, x: x.softmax(1),
    "log_softmax": lambda t, x: x.log_softmax(0),
    "view": lambda t, x: x.view(4, -1),
    "view bad": lambda t, x: x.view(5, 5),
    "view of transposed": lambda t, x: x.transpose(0, 2).view(24),
    "reshape of transposed": lambda t, x: x.transpose(0, 2).reshape(6, 4),
    "permute": lambda t, x: x.permute(2, 0, 1),
    "permute bad": lambda t, x: x.permute(2, 0),
    "T twice": lambda t, x: x[0].T.T,
    "mT": lambda t, x: x.mT,
    "expand": lambda t, x: x[:, :1].expand(2, 5, 4),
    "expand bad": lambda t, x: x.expand(2, 5, 4),
    "squeeze": lambda t, x: x[:1].squeeze(),
    "unsqueeze": lambda t, x: x.unsqueeze(-2),
    "narrow": lambda t, x: x.narrow(2, 1, 2),
    "select out of range": lambda t, x: x[:, 3],
    "dim out of range": lambda t, x: x.sum(3),
    "flatten": lambda t, x: x.flatten(1),
    "unflatten": lambda t, x: x.unflatten(2, (2, 2)),
    "movedim": lambda t, x: x.movedim(0, -1),
    "diagonal": lambda t, x: x.diagonal(0, 1, 2),
    "split": lambda t, x: x.split(3, 2),
    "chunk": lambda t, x: x.chunk(3, 1),
    "unbind": lambda t, x: x.unbind(1),
    "tensor_split": lambda t, x: x.tensor_split(3, 2),
    "cat": lambda t, x: t.cat([x, x.flip(0)], 1),
    "cat bad": lambda t, x: t.cat([x, x[0]]),
    "stack": lambda t, x: t.stack([x, x], 2),
    "repeat": lambda t, x: x.repeat(2, 1, 1, 2),
    "roll": lambda t, x: x.roll(1, 2),
    "tril": lambda t, x: x.tril(1),
    "sort": lambda t, x: x.sort(-1, stable=True),
    "clone": lambda t, x: x.transpose(0, 1).clone(),
    "contiguous": lambda t, x: x.transpose(0, 1).contiguous(),
    "double": lambda t, x: x.double(),
    "int": lambda t, x: x.int(),
    "zeros_like": lambda t, x: t.zeros_like(x.transpose(0, 2)),
    "full_like": lambda t, x: t.full_like(x, 3),
    "new_ones": lambda t, x: x.new_ones(2, 1),
    "index": lambda t, x: x[t.tensor([0, 1, 1]), :, t.tensor([3, 0, 3])],
    "mask": lambda t, x: x[x > 1],
    "masked_fill": lambda t, x: x.masked_fill(x > 1, 0),
    "gather": lambda t, x: x.gather(1, t.tensor([[[0, 1, 2, 0]], [[2, 2, 1, 0]]])),
    "gather bad": lambda t, x: x.gather(1, t.tensor([[[7, 1, 2, 0]]])),
    "index_select": lambda t, x: x.index_select(2, t.tensor([3, 3, 0])),
    "take": lambda t, x: x.take(t.tensor([0, -1, 5])),
    "nonzero": lambda t, x: (x > 1).nonzero(),
    "fill in place": lambda t, x: x.clone().fill_(2),
    "write": lambda t, x: write(t, x),  # noqa: PLW0108  # it is defined below
    "linear": lambda t, x: t.nn.functional.linear(x, x[0]),
    "cross_entropy": lambda t, x: t.nn.functional.cross_entropy(x.view(6, 4), t.tensor([0, 1, 2, 3, 0, 1])),
    "mse_loss": lambda t, x: t.nn.functional.mse_loss(x, x.detach() * 2),
    "gelu": functional("gelu"),
    "silu": functional("silu"),
    "softplus": functional("softplus"),
    "leaky_relu": functional("leaky_relu", 0.2),
    "one_hot": functional("one_hot"),
}
PRODUCTS = {
    "mm": ([(3, 4), (4, 2)], by_name("mm")),
    "mm bad": ([(3, 4), (3, 2)], by_name("mm")),
    "bmm": ([(2, 3, 4), (2, 4, 2)], by_name("bmm")),
    "mv": ([(3, 4), (4,)], by_name("mv")),
    "dot": ([(4,), (4,)], by_name("dot")),
    "dot bad": ([(4,), (3,)], by_name("dot")),
    "matmul vectors": ([(4,), (4,)], by_name("matmul")),
    "matmul batches": ([(2, 1, 3, 4), (5, 4, 2)], by_name("matmul")),
    "matmul bad": ([(3, 4), (3, 4)], by_name("matmul")),
    "outer": ([(3,), (4,)], by_name("outer")),
    "addmm": ([(2,), (3, 4), (4, 2)], lambda t, a, b, c: t.addmm(a, b, c, beta=0.5, alpha=2)),
    "baddbmm": ([(2, 1, 2), (2, 3, 4), (2, 4, 2)], by_name("baddbmm")),
    "index_put": ([(4, 2), (2, 2)], lambda t, a, b: a.index_put((t.tensor([1, 3]),), b, accumulate=True)),
    "index_add": ([(4, 2), (3, 2)], lambda t, a, b: a.index_add(0, t.tensor([1, 3, 1]), b)),
    "scatter": ([(4, 2), (2, 2)], lambda t, a, b: a.scatter(0, t.tensor([[1, 3], [2, 0]]), b)),
    "scatter_add": ([(4, 2), (3, 2)], lambda t, a, b: a.scatter_add(0, t.tensor([[1, 3], [1, 0], [1, 0]]), b)),
    "copy_": ([(4, 2), (2,)], lambda t, a, b: a.clone().copy_(b)),
    "copy_ bad": ([(4, 2), (3,)], lambda t, a, b: a.clone().copy_(b)),
}


def write(t, x):
    y = x.clone()
    y[0, 1] = 5
    y[:, :, 1::2] *= 2
    y[1][y[1] > 3] = -1
    y.transpose(0, 2)[1, 0].add_(x[:, 1, 2])
    return y


SHAPES = [((3, 4), (3, 4)), ((3, 1), (4,)), ((), (2, 3)), ((2, 0), (1,)), ((2, 3), (4,))]


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise(name, dtype):
    for seed, shape in enumerate([(), (5,), (2, 3, 4), (0, 3)]):
        compare(ELEMENTWISE[name], [draw(shape, dtype, seed)])


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("name", BINARY)
def test_two_tensors(name, dtype):
    for seed, (first, second) in enumerate(SHAPES):
        compare(BINARY[name], [draw(first, dtype, seed), draw(second, dtype, seed + 50)])


@pytest.mark.parametrize("name", ["add", "mul", "div", "pow", "maximum", "lt", "where", "remainder"])
def test_two_dtypes(name):
    for seed, (first, second) in enumerate((a, b) for a in [*ALL, "float16"] for b in ALL if a != b):
        for shapes in ((2, 3), (2, 3)), ((2, 3), ()), ((), (3,)):
            compare(BINARY[name], [draw(shapes[0], first, seed), draw(shapes[1], second, seed + 50)], slack=1e-6)


#: Calls that torch refuses and we answer, or whose gradient is nan in torch and an error here.
LIBERAL = {
    ("n ** t", "float32", -1.5),
    ("n ** t", "float64", -1.5),
}


@pytest.mark.parametrize("number", [2, -1.5, True, 0.5])
@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("name", NUMBERS)
def test_a_tensor_and_a_number(name, dtype, number):
    if name == "**=" and functional_of("pow_.Scalar") != "pow.Tensor_Scalar":
        pytest.skip("the operator library pairs pow_.Scalar with another overload")
    if (name, dtype, number) in LIBERAL:
        pytest.skip("more liberal than torch")
    for shape in ((4,), ()):
        compare(lambda t, x: NUMBERS[name](x, number), [draw(shape, dtype, 3)])


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
@pytest.mark.parametrize("name", SHAPED)
def test_reductions_views_and_indices(name, dtype):
    compare(SHAPED[name], [draw((2, 3, 4), dtype, 7)])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_and_scatters(name, dtype):
    shapes, function = PRODUCTS[name]
    compare(function, [draw(shape, dtype, seed) for seed, shape in enumerate(shapes)])


@pytest.mark.parametrize(
    "make",
    [
        lambda t: t.tensor([[1, 2.5], [3, 4]]),
        lambda t: t.tensor([True, 2]),
        lambda t: t.tensor(1e300),
        lambda t: t.tensor([[1], [2, 3]]),
        lambda t: t.tensor([1, [2]]),
        lambda t: t.tensor(["a"]),
        lambda t: t.tensor([None]),
        lambda t: t.tensor(2**70),
        lambda t: t.arange(2, 8, 3),
        lambda t: t.arange(0, 1, 0.3),
        lambda t: t.arange(5, 2),
        lambda t: t.linspace(-1, 1, 7),
        lambda t: t.eye(3, 2),
        lambda t: t.full((2, 2), True),
        lambda t: t.zeros(2, -1),
        lambda t: t.ones(3, dtype=t.int8) + t.ones(1, dtype=t.uint8),
        lambda t: t.empty(2, 3).stride(),
        lambda t: t.zeros(2, 3)[0].unsqueeze(0).stride(),
        lambda t: t.result_type(t.tensor([1]), 2.5) == t.float32,
        lambda t: t.allclose(t.ones(2), t.ones(2) + 1e-9),
        lambda t: t.zeros(3).index_put_((t.tensor([5]),), t.tensor(1.0)),
        lambda t: t.zeros(3, requires_grad=True).add_(1),
        lambda t: t.zeros(3).numpy().shape,
        lambda t: t.zeros(2, 3).size(5),
        lambda t: t.meshgrid(t.arange(2), t.arange(3), indexing="xy"),
        lambda t: t.broadcast_tensors(t.ones(2, 1), t.ones(3)),
        lambda t: t.nn.Linear(3, 2)(t.ones(4)),
        lambda t: t.nn.functional.cross_entropy(t.ones(2, 3), t.tensor([0, 3])),
        lambda t: t.nn.functional.one_hot(t.tensor([0, 2])),
    ],
)
def test_factories_and_errors(make):
    compare(make, [])


@pytest.mark.parametrize("seed", [0, 1, 2**40])
def test_random_numbers_are_torchs(seed):
    def draw_all(t):
        t.manual_seed(seed)
        return [
            t.rand(5), t.randn(3), t.randn(40), t.randint(0, 1000, (7,)), t.randperm(20), t.empty(9).uniform_(-3, 3),
            t.empty(33).normal_(1, 2), t.rand(4, dtype=t.float64), t.randn(17, dtype=t.float64),
        ]  # fmt: skip

    same(draw_all(torch), draw_all(torchlike))
