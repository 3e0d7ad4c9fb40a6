"""Every kind of derivative formula against finite differences, in float64; the gradients' own gradients too."""

import cmath
import random

import numpy as np
import pytest

import torchlike
from torchlike import autograd, nn, tensor
from torchlike.autograd import gradcheck, gradgradcheck
from torchlike.nn import functional as F

STEP = 1e-6


def inputs_of(shapes, low, high, seed=0):
    """Draw inputs without ties, away from kinks at whole numbers."""
    rng = np.random.default_rng(seed)
    for shape in shapes:
        values = rng.uniform(low, high, shape)
        values = np.where(np.abs(values - np.round(values)) < 0.05, values + 0.1, values)
        yield torchlike.tensor(np.asarray(values)).requires_grad_()


def numeric_gradient(function, inputs, which, weights):
    """Return the gradient of the weighted sum of ``function``'s result by one input, by central differences."""
    base = inputs[which].detach().numpy()
    found = np.zeros(base.shape)
    for place in np.ndindex(*base.shape):
        sums = []
        for sign in (1, -1):
            moved = base.copy()
            moved[place] += sign * STEP
            arguments = [torchlike.tensor(moved) if i == which else x.detach() for i, x in enumerate(inputs)]
            sums.append(float((function(*arguments).detach() * weights).sum()))
        found[place] = (sums[0] - sums[1]) / (2 * STEP)
    return found


def check(function, inputs):
    result = function(*inputs)
    rng = np.random.default_rng(1)
    weights = torchlike.tensor(np.asarray(rng.uniform(0.5, 1.5, tuple(result.shape))))
    for which, gradient in enumerate(autograd.grad(result, inputs, weights)):
        expected = numeric_gradient(function, inputs, which, weights)
        np.testing.assert_allclose(gradient.numpy(), expected, rtol=1e-5, atol=1e-7)


UNARY = {
    **{
        name: (getattr(torchlike, name), (-0.9, 0.9))
        for name in (
            "abs acos asin atan atanh ceil cos cosh erf erfc exp exp2 expm1 floor frac neg relu round sigmoid sign sin sinh"
            " square tan tanh trunc"
        ).split()
    },
    **{
        name: (getattr(torchlike, name), (1.1, 3.0))
        for name in "acosh asinh log log10 log1p log2 reciprocal rsqrt sqrt".split()
    },
    "silu": (F.silu, (-2, 2)),
    "gelu": (F.gelu, (-2, 2)),
    "gelu tanh": (lambda x: F.gelu(x, approximate="tanh"), (-2, 2)),
    "elu": (F.elu, (-2, 2)),
    "leaky_relu": (F.leaky_relu, (-2, 2)),
    "softplus": (F.softplus, (-2, 2)),
    "pow 3": (lambda x: x**3, (0.5, 2)),
    "pow -1.5": (lambda x: x**-1.5, (0.5, 2)),
    "number pow": (lambda x: 2.5**x, (-1, 1)),
    "number minus": (lambda x: 2 - x, (-1, 1)),
    "number over": (lambda x: 2 / x, (1, 2)),
    "remainder": (lambda x: x % 0.7, (0.75, 1.3)),
    "clamp": (lambda x: x.clamp(-0.52, 0.52), (-1, 1)),
    "nan_to_num": (lambda x: x.nan_to_num(), (-1, 1)),
}
SHAPED = {
    "sum": lambda x: x.sum(),
    "sum dim": lambda x: x.sum((0, 2)),
    "sum keepdim": lambda x: x.sum(-1, keepdim=True),
    "mean": lambda x: x.mean(),
    "mean dim": lambda x: x.mean(1),
    "prod": lambda x: x.prod(),
    "prod dim": lambda x: x.prod(1),
    "var": lambda x: x.var(),
    "var dim": lambda x: x.var((0, 1), unbiased=False),
    "std": lambda x: x.std(2),
    "amax": lambda x: x.amax((0, 1)),
    "amin": lambda x: x.amin(2),
    "max": lambda x: x.max(),
    "max dim": lambda x: x.max(1).values,
    "min dim": lambda x: x.min(0, keepdim=True).values,
    "norm": lambda x: x.norm(),
    "norm dim": lambda x: x.norm(3, 1),
    "logsumexp": lambda x: x.logsumexp((0, 2)),
    "cumsum": lambda x: x.cumsum(1),
    "cumprod": lambda x: x.cumprod(2),
    "logcumsumexp": lambda x: x.logcumsumexp(1),
    "softmax": lambda x: x.softmax(1),
    "log_softmax": lambda x: x.log_softmax(-1),
    "sort": lambda x: x.sort(2).values,
    "topk": lambda x: x.topk(2, 2).values,
    "view": lambda x: x.view(4, 6),
    "permute": lambda x: x.permute(2, 0, 1),
    "transpose": lambda x: x.transpose(0, 2),
    "expand": lambda x: x.unsqueeze(1).expand(2, 5, 3, 4),
    "squeeze": lambda x: x.unsqueeze(0).squeeze(),
    "slice": lambda x: x[:, ::2, 1:],
    "select": lambda x: x[1, :, 2],
    "as_strided": lambda x: x.as_strided((3, 3), (2, 1), 1),
    "diagonal": lambda x: x.diagonal(1, 1, 2),
    "unbind": lambda x: x.unbind(1)[0] * x.unbind(1)[2],
    "split": lambda x: x.split([1, 3], 2)[1],
    "flip": lambda x: x.flip(0, 2),
    "roll": lambda x: x.roll((1, -1), (0, 2)),
    "repeat": lambda x: x.repeat(2, 1, 3),
    "tril": lambda x: x.tril(),
    "index": lambda x: x[tensor([0, 1, 1]), :, tensor([2, 2, 2])],
    "mask": lambda x: x[x.detach() > 0.9],
    "masked_fill": lambda x: x.masked_fill(x.detach() > 0.9, 3.0),
    "gather": lambda x: x.gather(2, tensor([[[0, 1, 1]]]).expand(2, 3, 3)),
    "index_select": lambda x: x.index_select(1, tensor([2, 0, 2])),
    "take": lambda x: x.take(tensor([[0, 5], [5, -1]])),
    "cat": lambda x: torchlike.cat([x, x * 2, x[:1]]),
    "stack": lambda x: torchlike.stack([x, x * x], 1),
    "where": lambda x: torchlike.where(x.detach() > 0.9, x * 2, 3.0),
    "in place": lambda x: (x * 1).mul_(x).add_(x, alpha=2).sin_(),
    "write to view": lambda x: write(x),  # noqa: PLW0108  # it is defined below
    "cross_entropy": lambda x: F.cross_entropy(x.view(6, 4), tensor([0, 1, 2, 3, 1, 2]), label_smoothing=0.1),
    "nll weighted": lambda x: F.cross_entropy(
        x.view(6, 4), tensor([0, 1, 2, 3, 1, 2]), tensor([1.0, 2.0, 3.0, 4.0], dtype=torchlike.float64)
    ),
}
PAIRS = {
    "add": lambda x, y: torchlike.add(x, y, alpha=3),
    "sub": lambda x, y: torchlike.sub(x, y, alpha=0.5),
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "pow": lambda x, y: x**y,
    "atan2": torchlike.atan2,
    "fmod": torchlike.fmod,
    "maximum": torchlike.maximum,
    "minimum": torchlike.minimum,
    "lerp": lambda x, y: torchlike.lerp(x, y, 0.3),
    "addcmul": lambda x, y: torchlike.addcmul(x, x * 2, y, value=0.7),
    "addcdiv": lambda x, y: torchlike.addcdiv(y, x * 2, y, value=0.7),
    "mse": lambda x, y: F.mse_loss(*torchlike.broadcast_tensors(x, y)),
    "bce": lambda x, y: F.binary_cross_entropy_with_logits(*torchlike.broadcast_tensors(x, y)),
}
PRODUCTS = {
    "mm": ([(3, 4), (4, 2)], torchlike.mm),
    "bmm": ([(2, 3, 4), (2, 4, 2)], torchlike.bmm),
    "mv": ([(3, 4), (4,)], torchlike.mv),
    "dot": ([(4,), (4,)], torchlike.dot),
    "outer": ([(3,), (4,)], torchlike.outer),
    "matmul": ([(2, 1, 3, 4), (5, 4, 2)], torchlike.matmul),
    "addmm": ([(2,), (3, 4), (4, 2)], lambda a, b, c: torchlike.addmm(a, b, c, beta=0.5, alpha=2)),
    "baddbmm": ([(1, 2), (2, 3, 4), (2, 4, 2)], torchlike.baddbmm),
    "linear": ([(2, 5, 4), (3, 4), (3,)], F.linear),
    "embedding": ([(5, 3)], lambda w: F.embedding(tensor([[0, 2], [2, 4]]), w)),
    "index_put": ([(4,), (2,)], lambda a, b: a.index_put((tensor([1, 3]),), b)),
    "index_add": ([(4, 2), (3, 2)], lambda a, b: a.index_add(0, tensor([1, 3, 1]), b, alpha=2)),
    "scatter": ([(4, 2), (2, 2)], lambda a, b: a.scatter(0, tensor([[1, 3], [2, 0]]), b)),
    "scatter_add": ([(4, 2), (3, 2)], lambda a, b: a.scatter_add(0, tensor([[1, 3], [1, 0], [1, 0]]), b)),
    "scatter a part": ([(4, 2), (3, 2)], lambda a, b: a.scatter(0, tensor([[1], [2]]), b)),
    "scatter_add a part": ([(4, 2), (3, 4)], lambda a, b: a.scatter_add(1, tensor([[1, 1], [0, 0]]), b)),
    "select_scatter": ([(4, 2), (2,)], lambda a, b: a.select_scatter(b, 0, 1)),
    "slice_scatter": ([(4, 2), (2, 2)], lambda a, b: a.slice_scatter(b, 0, 0, 4, 2)),
}


def write(x):
    base = x * 1
    base[1, :, ::2].mul_(x[0, :, ::2])
    base.view(-1)[:3].exp_()
    return base


@pytest.mark.parametrize("name", UNARY)
def test_elementwise(name):
    function, (low, high) = UNARY[name]
    check(function, list(inputs_of([(7,)], low, high)))


@pytest.mark.parametrize("name", SHAPED)
def test_reductions_views_and_indices(name):
    check(SHAPED[name], list(inputs_of([(2, 3, 4)], 0.2, 1.8)))


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize(
    "shapes", [[(2, 3), (2, 3)], [(2, 1), (3,)], [(), (2, 2)]], ids=["same", "broadcast", "number"]
)
def test_two_inputs_that_broadcast(name, shapes):
    check(PAIRS[name], list(inputs_of(shapes, 0.3, 1.7)))


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_and_scatters(name):
    shapes, function = PRODUCTS[name]
    check(function, list(inputs_of(shapes, -1, 1)))


SECOND = ["exp", "sin", "tanh", "sigmoid", "log", "sqrt", "reciprocal", "pow 3", "silu", "gelu", "elu", "number over"]


@pytest.mark.parametrize("name", SECOND)
def test_gradients_of_gradients(name):
    function, (low, high) = UNARY[name]

    def slope(x):
        x = x if x.requires_grad else x.detach().requires_grad_()
        return autograd.grad(function(x).sum(), x, create_graph=True)[0]

    check(slope, list(inputs_of([(5,)], low, high)))


@pytest.mark.parametrize(
    "name",
    ["softmax", "log_softmax", "prod", "var", "norm", "logsumexp", "logcumsumexp", "write to view", "cross_entropy"],
)
def test_gradients_of_gradients_of_shaped_functions(name):
    def slope(x):
        x = x if x.requires_grad else x.detach().requires_grad_()
        result = SHAPED[name](x)
        weights = torchlike.arange(1.0, result.numel() + 1, dtype=torchlike.float64).view(result.shape)
        return autograd.grad((result * weights).sum(), x, create_graph=True)[0]

    check(slope, list(inputs_of([(2, 3, 4)], 0.2, 1.8)))


def test_a_whole_network():
    torchlike.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3)).double()
    parameters = list(net.parameters())

    def loss(x, *values):
        hidden = F.linear(x, values[0], values[1]).tanh()
        return F.cross_entropy(F.linear(hidden, values[2], values[3]), tensor([0, 2]))

    (x,) = inputs_of([(2, 4)], -1, 1)
    assert torchlike.allclose(loss(x, *parameters), F.cross_entropy(net(x), tensor([0, 2])))
    check(loss, [x, *parameters])


def test_complex_gradients_are_conjugated_as_in_torch():
    """A step against the gradient makes a real loss smaller: it is that of the real and the imaginary part."""
    x = torchlike.tensor([3 + 4j, 1 - 1j, 0j], requires_grad=True)
    for function, slope in (
        (lambda x: x * x, lambda x: 2 * x),
        (lambda x: x * 2j, lambda x: 2j),
        (torchlike.exp, cmath.exp),
    ):
        x.grad = None
        function(x).backward(torchlike.tensor([1j, 2.0 + 0j, 1.0 + 0j]))
        expected = [
            seed * complex(slope(value)).conjugate() for seed, value in zip((1j, 2, 1), x.tolist(), strict=True)
        ]
        assert x.grad.tolist() == pytest.approx(expected, rel=1e-5)
    x.grad = None
    x.abs().sum().backward()
    assert x.grad.tolist() == pytest.approx([0.6 + 0.8j, (1 - 1j) / 2**0.5, 0j])


@pytest.mark.parametrize("name", ["max", "min"])
def test_the_gradient_of_an_extremum_that_is_nan_is_shared_by_the_nans(name):
    x = torchlike.tensor([1.0, float("nan"), 2.0, float("nan")], requires_grad=True)
    getattr(x, name)().backward()
    assert x.grad.tolist() == [0.0, 0.5, 0.0, 0.5]


@pytest.mark.parametrize("small", [0.0, -0.0, 1e-30])
def test_the_gradient_of_an_angle_at_the_origin_is_zero(small):
    y, x = (torchlike.tensor([small, 3.0], requires_grad=True) for _ in range(2))
    torchlike.atan2(y, x).sum().backward()
    assert y.grad[0] == x.grad[0] == 0
    assert y.grad[1] == -x.grad[1] == pytest.approx(1 / 6)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("name", ["scatter_reduce", "index_reduce"])
def test_second_derivatives_of_scattered_products_with_zeros(name, include_self):
    choose = random.Random(3)
    reduce = getattr(torchlike, name)
    for _ in range(8):
        into = torchlike.tensor([choose.choice([0.0, 1.5]) for _ in range(2)], dtype=torchlike.float64)
        source = torchlike.tensor([choose.choice([0.0, 0.0, 0.7, -2.0]) for _ in range(5)], dtype=torchlike.float64)
        index = torchlike.tensor([choose.randrange(2) for _ in range(5)])
        given = into.requires_grad_(), source.requires_grad_()

        def product(into, source, index=index):
            return reduce(into, 0, index, source, "prod", include_self=include_self)

        assert gradcheck(product, given)
        assert gradgradcheck(product, given)
