"""Dual numbers in functions that transforms differentiate: `dual_level` inside of `grad` and `vjp`."""

from __future__ import annotations

import pytest

import torchlike
from torchlike import func
from torchlike.autograd import Function, forward_ad

X, WAY = torchlike.tensor([0.5, 1.0, 2.0]), torchlike.tensor([1.0, 2.0, 3.0])


def push(f, x, way=WAY):
    """Return the derivative of a function along a direction, by dual numbers."""
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(f(forward_ad.make_dual(x, way))).tangent


class Cube(Function):
    """A function whose ``jvp`` is told from its ``backward``: it is 10 times as large."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        """Return the cube."""
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Keep the argument."""
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        """Return the gradient."""
        return grad * 3 * ctx.saved_tensors[0] ** 2

    @staticmethod
    def jvp(ctx, way):
        """Return the tangent."""
        return way * 30 * ctx.saved_tensors[0] ** 2


FUNCTIONS = {
    "pointwise": lambda x: x.sin() * x.exp(),
    "reduction": lambda x: x.prod() + x.logsumexp(0),
    "with a constant": lambda x: x * x.sum() + WAY * X,
    "composite": lambda x: torchlike.nn.functional.layer_norm(x.softmax(0).cumsum(0), (3,)),
    "view": lambda x: (x * 1)[1:].exp(),
    "matrices": lambda x: (x[:, None] @ x[None]).tanh().sum(1),
    "written": lambda x: (x * 1).mul_(x).add_(1),
    "several results": lambda x: torchlike.cat([x.max(0)[0][None], *x.exp().split(1)]),
    "captured numbers": lambda x: torchlike.where(X > 0.7, x * x, x.exp()),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_of_tangents_are_those_of_jvp(name):
    f = FUNCTIONS[name]

    def slope(x):
        return func.jvp(f, (x,), (WAY,))[1].sin().sum()

    expected = func.grad(slope)(X)
    assert func.grad(lambda x: push(f, x).sin().sum())(X).tolist() == pytest.approx(expected.tolist(), abs=1e-4)
    _, multiply = func.vjp(lambda x: push(f, x).sin().sum(), X)
    assert multiply(torchlike.ones(()))[0].tolist() == pytest.approx(expected.tolist(), abs=1e-4)
    rows = torchlike.stack([X, X / 2])
    found = func.vmap(func.grad(lambda x: push(f, x).sin().sum()))(rows)
    assert found[0].tolist() == pytest.approx(expected.tolist(), abs=1e-4)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_by_the_direction_pass_a_constant(name):
    f = FUNCTIONS[name]
    way = WAY.clone().requires_grad_()
    push(f, X, way).sin().sum().backward()  # without a transform
    expected = func.grad(lambda way: func.jvp(f, (X,), (way,))[1].sin().sum())(WAY).tolist()
    assert way.grad.tolist() == pytest.approx(expected, abs=1e-5)
    found = func.grad(lambda way: push(f, X, way).sin().sum())(WAY)
    assert found.tolist() == pytest.approx(expected, abs=1e-5)


def test_custom_functions_push_by_their_jvp():
    assert func.grad(lambda x: push(Cube.apply, x).sum())(X).tolist() == [30.0, 120.0, 360.0]
    assert func.grad(lambda x: push(func.vmap(Cube.apply), x).sum())(X).tolist() == [30.0, 120.0, 360.0]
    assert func.grad(lambda x: push(lambda y: Cube.apply(x) + y, x).sum())(X).tolist() == [0.0, 0.0, 0.0]


def test_transforms_stand_inside_and_around():
    assert func.grad(lambda x: push(func.grad(lambda y: (y**3).sum()), x).sum())(X).tolist() == [6.0, 12.0, 18.0]
    assert func.grad(lambda x: push(func.vmap(lambda y: y**3), x).sum())(X).tolist() == [3.0, 12.0, 36.0]
    second = func.grad(lambda y: func.grad(lambda x: push(lambda z: z**4, x).sum())(y).sum())(X)
    assert second.tolist() == [12.0, 48.0, 144.0]


def test_a_dual_number_that_outlives_its_level_is_its_value():
    kept = []

    def call(x):
        with forward_ad.dual_level():
            kept.append(forward_ad.make_dual(x, WAY) * 2)
        return (kept[0] * 3).sum()

    assert func.grad(call)(X).tolist() == [6.0, 6.0, 6.0]


def test_an_error_inside_closes_the_level():
    def fail(x):
        with forward_ad.dual_level():
            1 / 0  # noqa: B018  # fails

    with pytest.raises(ZeroDivisionError):
        func.grad(fail)(X)
    assert forward_ad._current_level == -1
    assert func.grad(lambda x: (x * x).sum())(X).tolist() == [1.0, 2.0, 4.0]


REFUSED = {
    "vmap": (lambda f: func.vmap(f)(X), "supported inside of grad and vjp alone, not inside of vmap"),
    "functionalize": (lambda f: func.functionalize(f)(X), "not inside of functionalize"),
    "jvp": (lambda f: func.jvp(f, (X,), (WAY,)), "Nested forward mode AD is not supported"),
    "grad in jvp": (lambda f: func.jvp(func.grad(f), (X,), (WAY,)), "Nested forward mode AD is not supported"),
    "another level": (lambda f: push(func.grad(f), X), "Nested forward mode AD is not supported"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_levels_in_other_transforms_are_refused(name):
    use, text = REFUSED[name]
    with pytest.raises(RuntimeError, match=text):
        use(lambda x: push(torchlike.sin, x, torchlike.ones_like(x)).sum())


def test_dual_numbers_are_not_made_in_a_transform_inside_of_the_level():
    def call(x):
        with forward_ad.dual_level():
            return func.vmap(lambda row: forward_ad.make_dual(row, row))(x).sum()

    with pytest.raises(RuntimeError, match="dual numbers are made and taken apart where their dual_level was opened"):
        func.grad(call)(X)
