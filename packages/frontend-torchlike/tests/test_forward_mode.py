"""Forward mode: dual numbers, through operators, views, writes, custom functions, and over backward."""

from __future__ import annotations

import numpy as np
import pytest

import torchlike
from torchlike.autograd import Function
from torchlike.autograd import forward_ad as fwad
from torchlike.autograd.function import once_differentiable

POINT, WAY = [0.5, 2.0, 1.5], [1.0, -0.5, 2.0]
FUNCTIONS = {
    "composite": lambda x: x.softmax(0) * x.var(),
    "cross entropy": lambda x: torchlike.nn.functional.cross_entropy(x[None], torchlike.tensor([1])),
    "in place": lambda x: (x * 1).mul_(x).add_(3).exp_(),
    "index": lambda x: x[torchlike.tensor([0, 0, 2])],
    "join": lambda x: torchlike.cat([x, x * 2]),
    "logarithms of sums": lambda x: x.logcumsumexp(0),
    "matrix": lambda x: (x[:, None] @ x[None, :]).tanh(),
    "named results": lambda x: x.sort()[0] ** 2 + x.max(0)[0],
    "power": lambda x: x**x,
    "scatter": lambda x: x.scatter(0, torchlike.tensor([2]), x * 2).scatter_add(0, torchlike.tensor([1, 1]), x),
    "scan": lambda x: x.cumsum(0).cumprod(0),
    "split": lambda x: x.split(2)[0] * x.sum(),
    "view": lambda x: x.view(1, 3).transpose(0, 1)[0] * 2,
}


def dual(point=POINT, way=WAY, **kwargs):
    float64 = torchlike.float64
    return fwad.make_dual(torchlike.tensor(point, dtype=float64, **kwargs), torchlike.tensor(way, dtype=float64))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_tangents_are_differences_along_the_direction(name):
    function = FUNCTIONS[name]
    with fwad.dual_level():
        primal, tangent = fwad.unpack_dual(function(dual()))
    ends = [function(torchlike.tensor(np.array(POINT) + step * np.array(WAY))).numpy() for step in (1e-6, -1e-6)]
    assert tangent.numpy() == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-6)
    assert primal.numpy() == pytest.approx(function(torchlike.tensor(np.array(POINT))).numpy())


@pytest.mark.parametrize("dtype", [torchlike.float32, torchlike.float64])
def test_running_sums_of_far_exponentials_have_derivatives(dtype):
    inf = float("inf")
    for values in ([-1000.0, 0.0, 1000.0], [2.0, 2.0, 2.0], [-inf, -inf, 0.0], [0.0, -inf, 1.0], [-inf, -inf, -inf]):
        x = torchlike.tensor(values, dtype=dtype)
        result = x.logcumsumexp(0)
        weights = (x - result[:, None]).exp().tril().nan_to_num(0.0)  # zeros where all so far are -inf
        for find in (torchlike.func.jacfwd, torchlike.func.jacrev):
            assert torchlike.allclose(find(lambda x: x.logcumsumexp(0))(x), weights)
        last = weights[-1]
        curvature = torchlike.func.hessian(lambda x: x.logcumsumexp(0)[-1])(x)
        assert torchlike.allclose(curvature, last.diag() - last.outer(last), atol=1e-6)


def test_directions_are_finite_where_formulas_divide_by_zero():
    """Forward mode differentiates backward's formulas by their gradient, which a mask of the quotient would make nan."""
    float64 = torchlike.float64
    cases = [
        (lambda x: x ** torchlike.tensor([0.0, 1.0, 2.0], dtype=float64), [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]),
        (lambda y: torchlike.pow(0.0, y), [0.0, 1.0, 2.5], [0.0, 0.0, 0.0]),
        (lambda y: torchlike.zeros(2, dtype=float64) ** y, [0.0, 3.0], [0.0, 0.0]),
        (lambda x: x.std(), [3.0, 3.0, 3.0], 0.0),
        (lambda x: torchlike.complex(x, x * 0).sgn().abs(), [0.0, 2.0], [0.0, 0.0]),
        (lambda x: torchlike.complex(x, x * 0).angle(), [0.0, 2.0], [0.0, 0.0]),
    ]
    for function, point, way in cases:
        x = torchlike.tensor(point, dtype=float64)
        assert torchlike.func.jvp(function, (x,), (torchlike.ones_like(x),))[1].tolist() == way


def test_second_derivatives_are_zero_where_the_loss_is_bounded():
    target = torchlike.tensor([0.0, 1.0, 1.0], dtype=torchlike.float64)
    x = torchlike.tensor([0.0, 1.0, 0.5], dtype=torchlike.float64)

    def loss(x):
        return torchlike.nn.functional.binary_cross_entropy(x, target, reduction="sum")

    assert torchlike.func.hessian(loss)(x).diag().tolist() == [0.0, 0.0, 4.0]
    far = torchlike.tensor([60.0, -60.0], dtype=torchlike.float64)
    curvature = torchlike.func.hessian(lambda x: torchlike.special.log_ndtr(x).sum())(far).diag()
    assert curvature.tolist() == pytest.approx([0.0, -1.0], abs=1e-3)


@pytest.mark.parametrize("options", [{}, {"num_layers": 2, "bidirectional": True}], ids=["one", "several"])
@pytest.mark.parametrize("kind", ["GRU", "LSTM"])
def test_recurrent_layers_of_floats_have_all_derivatives(kind, options):
    """In float32 a layer is one operator, whose backward is differentiated by its parts; float64 has only the parts."""
    torchlike.manual_seed(1)
    layer = getattr(torchlike.nn, kind)(2, 3, **options)
    x, found = torchlike.randn(4, 1, 2), []
    for dtype in (torchlike.float32, torchlike.float64):
        layer, x = layer.to(dtype), x.to(dtype)

        def loss(x, layer=layer):
            return layer(x)[0].square().sum()

        leaf = x.clone().requires_grad_()
        (slope,) = torchlike.autograd.grad(loss(leaf), leaf, create_graph=True)
        slope.square().sum().backward()
        weights = [each.grad for each in layer.parameters()]
        layer.zero_grad()
        found.append([torchlike.func.jvp(loss, (x,), (x,))[1], torchlike.func.hessian(loss)(x), leaf.grad, *weights])
    for one, other in zip(*found, strict=True):
        assert torchlike.allclose(one.double(), other, rtol=1e-3, atol=1e-5)


def test_forward_over_backward_is_a_product_with_the_hessian():
    with fwad.dual_level():
        x = dual(requires_grad=True)
        (gradient,) = torchlike.autograd.grad((x**3).sum(), x, create_graph=True)
        tangent = fwad.unpack_dual(gradient).tangent
    assert tangent.tolist() == pytest.approx([6 * point * way for point, way in zip(POINT, WAY, strict=True)])


def test_levels_end_with_their_tangents_and_do_not_nest():
    with fwad.dual_level():
        x = dual()
        with pytest.raises(RuntimeError, match="Nested forward mode"), fwad.dual_level():
            pass
    assert fwad.unpack_dual(x).tangent is None
    with fwad.dual_level():
        assert fwad.unpack_dual(x * 2).tangent is None
    with pytest.raises(RuntimeError, match="outside of a dual level"):
        dual()
    fwad.enter_dual_level()
    fwad.exit_dual_level()
    with pytest.raises(RuntimeError, match="no level is currently open"):
        fwad.exit_dual_level()


def test_bad_dual_numbers_are_refused():
    one, two = torchlike.ones(1), torchlike.ones(2)
    with fwad.dual_level():
        with pytest.raises(RuntimeError, match="has a different size than that of the original Tensor"):
            fwad.make_dual(one, two)
        with pytest.raises(ValueError, match="floating point or complex"):
            fwad.make_dual(torchlike.ones(1, dtype=torchlike.int64), one)
        with pytest.raises(RuntimeError, match="out="):
            torchlike.add(dual(), 1, out=torchlike.empty(3, dtype=torchlike.float64))


def test_a_written_tensor_and_its_views_share_a_tangent():
    with fwad.dual_level():
        x = dual() * 1
        row = x[:2]
        row.mul_(10)
        assert fwad.unpack_dual(x).tangent.tolist() == [10.0, -5.0, 2.0]


def test_a_custom_function_brings_its_own_forward_derivative():
    class Cube(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_forward(x)
            return x**3

        @staticmethod
        def jvp(ctx, way):
            (x,) = ctx.saved_tensors
            return 30 * x * x * way  # ten times too much, to tell it from the formulas

    class Plain(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    with fwad.dual_level():
        assert fwad.unpack_dual(Cube.apply(dual())).tangent.tolist() == [7.5, -60.0, 135.0]
        with pytest.raises(NotImplementedError, match="jvp"):
            Plain.apply(dual())


def test_gradients_of_a_once_differentiable_backward_have_none():
    class Double(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        @once_differentiable
        def backward(ctx, grad):
            assert not torchlike.is_grad_enabled()
            return grad * 2

    x = torchlike.ones(2, requires_grad=True)
    weight = torchlike.ones(2, requires_grad=True)
    (gradient,) = torchlike.autograd.grad(Double.apply(x), x, weight, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


def _of(*places):
    return tuple(torchlike.tensor(each) for each in places)


#: Ways to write a dual number into a tensor of four rows and columns; ``d`` makes one of a shape.
WRITES = {
    "row": lambda y, d: y.__setitem__(0, d(4)),
    "column": lambda y, d: y.__setitem__((slice(None), 1), d(4)),
    "step": lambda y, d: y.__setitem__(slice(None, None, 2), d(2, 4)),
    "mask": lambda y, d: y.__setitem__(torchlike.tensor([True, False, False, True]), d(2, 4)),
    "select": lambda y, d: y.select(1, 2).copy_(d(4)),
    "narrow": lambda y, d: y.narrow(0, 1, 2).copy_(d(2, 4)),
    "diagonal": lambda y, d: y.diagonal().copy_(d(4)),
    "transpose": lambda y, d: y.transpose(0, 1)[2:].sub_(d(4)),
    "t": lambda y, d: y.t().copy_(d(4, 4)),
    "view": lambda y, d: y.view(2, 8).copy_(d(2, 8)),
    "flatten": lambda y, d: y.flatten().add_(d(16)),
    "as_strided": lambda y, d: y.as_strided((2,), (3,), 1).copy_(d(2)),
    "unsqueeze": lambda y, d: y.unsqueeze(0)[0, 1].copy_(d(4)),
    "nested": lambda y, d: y[1:].t()[1:3].view(2, 3).copy_(d(2, 3)),
    "movedim": lambda y, d: y.movedim(0, 1)[1].copy_(d(4)),
    "whole": lambda y, d: y.copy_(d(4, 4)),
    "broadcast": lambda y, d: y[:3].copy_(d(4)),
    "add_": lambda y, d: y[1:].add_(d(4)),
    "mul_": lambda y, d: y[0].add_(2).mul_(d(4)),
    "addcmul_": lambda y, d: y[1].addcmul_(d(4), d(4)),
    "index_put_": lambda y, d: y[1:3].index_put_(_of([0, 1], [1, 2]), d(2)),
    "index_add_": lambda y, d: y[0].index_add_(0, *_of([1, 3]), d(2)),
    "scatter_": lambda y, d: y[0].scatter_(0, *_of([1, 3]), d(2)),
    "masked_fill_": lambda y, d: y[:2].masked_fill_(*_of([True, False, True, False]), d(1)[0]),
    "fill_": lambda y, d: y[0].fill_(d(1)[0]),
    "sin_": lambda y, d: y[0].sin_(),
    "zero_": lambda y, d: y[2].zero_(),
}
PARTS_OF_LISTS = {
    "unbind": lambda y, d: y.unbind(0)[1].copy_(d(4)),
    "chunk": lambda y, d: y.chunk(2)[1].copy_(d(2, 4)),
    "split": lambda y, d: y.split(2, 1)[1].copy_(d(4, 2)),
}
#: How many drawn programs of such writes are run, and by which seed.
PROGRAMS, SEED = 60, 0


def run_writes(writes, number, recorded):
    """Write numbers into zeros; return the tensor, a view from before, one from after, and a function of it, with tangents.

    ``number`` makes the numbers of their values and their directions.
    """
    rng = np.random.default_rng(7)

    def make(*shape):
        return number(rng.standard_normal(shape), rng.standard_normal(shape))

    y = torchlike.zeros(4, 4, dtype=torchlike.float64, requires_grad=recorded) * 1.0
    early = y[:, 1]
    for write in writes:
        write(y, make)
    return [fwad.unpack_dual(each) for each in (y, early, y[1], (y * y).sum(0))]


def check_writes(writes, recorded):
    def shifted(step):
        return run_writes(writes, lambda value, way: torchlike.tensor(value + step * way), recorded)

    with fwad.dual_level():
        found = run_writes(
            writes, lambda value, way: fwad.make_dual(torchlike.tensor(value), torchlike.tensor(way)), recorded
        )
    for pair, above, below in zip(found, shifted(1e-6), shifted(-1e-6), strict=True):
        expected = ((above.primal - below.primal) / 2e-6).detach().numpy()
        tangent = np.zeros_like(expected) if pair.tangent is None else pair.tangent.detach().numpy()
        np.testing.assert_allclose(tangent, expected, atol=1e-7)


@pytest.mark.parametrize("recorded", [False, True])
def test_dual_numbers_are_written_into_views_of_tensors_without_a_tangent(recorded):
    ways = WRITES if recorded else WRITES | PARTS_OF_LISTS  # of a list's views none may be written to while recording
    for write in ways.values():
        check_writes([write], recorded)
    rng = np.random.default_rng(SEED)
    for _ in range(PROGRAMS):
        check_writes([list(ways.values())[each] for each in rng.integers(len(ways), size=rng.integers(2, 6))], recorded)


def test_a_primal_has_no_tangent_though_its_memory_has_one():
    with fwad.dual_level():
        x, way = torchlike.zeros(2, 2), torchlike.ones(2)
        x[0] = fwad.make_dual(way, way)
        primal = fwad.unpack_dual(x).primal
        assert fwad.unpack_dual(primal).tangent is None and fwad.unpack_dual(primal[0] * 2).tangent is None
        x.mul_(3)
        assert fwad.unpack_dual(x).tangent.tolist() == [[3.0, 3.0], [0.0, 0.0]] and way.tolist() == [1.0, 1.0]


def test_dual_numbers_are_written_into_views_inside_of_grad():
    def function(x):
        with fwad.dual_level():
            y = torchlike.zeros(2, 2)
            y[0] = fwad.make_dual(x, x * x)
            return (fwad.unpack_dual(y * y).tangent).sum()

    x = torchlike.tensor([1.0, 2.0])
    assert torchlike.func.grad(function)(x).tolist() == [6.0, 24.0]  # that of twice the third power


@pytest.mark.parametrize(
    "write",
    [
        lambda x: (x * 1).mul_(x),
        lambda x: (x * 2).mul_(x).add_(1),
        lambda x: x.clone().mul_(x).mul_(x),
        lambda x: (x * 1).div_(x * x),
        lambda x: (x.sin() * 1).mul_(x),
    ],
)
def test_a_tangent_that_was_written_has_the_gradient_of_the_function_without_writes(write):
    names = {"mul_": "mul", "add_": "add", "div_": "div"}

    class Functional:
        """A tensor whose writes give new tensors."""

        def __init__(self, tensor):
            self.tensor = tensor

        def __getattr__(self, name):
            method = getattr(self.tensor, names.get(name, name))
            return lambda *args: Functional(method(*[getattr(each, "tensor", each) for each in args]))

        def __mul__(self, other):
            return Functional(self.tensor * getattr(other, "tensor", other))

    found = []
    for function in (write, lambda x: write(Functional(x)).tensor):
        point = torchlike.tensor([0.5, 1.0, 2.0], dtype=torchlike.float64, requires_grad=True)
        with fwad.dual_level():
            dual = fwad.make_dual(point, torchlike.tensor([1.0, -2.0, 3.0], dtype=torchlike.float64))
            fwad.unpack_dual(function(dual)).tangent.sin().sum().backward()
        found.append(point.grad.tolist())
    assert found[0] == pytest.approx(found[1])


def test_sums_that_were_broadcast_are_written_with_their_tangents():
    with fwad.dual_level():
        dual = fwad.make_dual(torchlike.tensor([1.0, 2.0]), torchlike.tensor([1.0, 3.0]))
        written = (dual.sum() + torchlike.zeros(2)).mul_(dual)
        assert fwad.unpack_dual(written).tangent.tolist() == [7.0, 17.0]
        assert fwad.unpack_dual(dual).tangent.tolist() == [1.0, 3.0]
