"""Function transforms beside torch's: gradients, Jacobians, and the call for each row of a batch."""

import pytest

pytest.importorskip("torch", reason="the oracle of these tests is torch")

import numpy as np
import torch

import torchlike


def _data(t):
    numbers = np.random.default_rng(5).standard_normal((4, 3)).astype(np.float32)
    return t.tensor(numbers.tolist()), t.tensor(numbers[0].tolist())


def _loss_of(t):
    layer = t.nn.Linear(3, 2)
    state = {"weight": t.arange(6.0).reshape(2, 3) / 7, "bias": t.ones(2)}
    return state, lambda state, x: t.func.functional_call(layer, state, (x,)).tanh().sum()


CASES = {
    "grad": lambda t, a, x: t.func.grad(lambda x: (a @ x).tanh().sum())(x),
    "grad of grad": lambda t, a, x: t.func.grad(t.func.grad(lambda x: (x**3).exp()))(x[0]),
    "grad of a dict": lambda t, a, x: t.func.grad(lambda p: (p["w"] ** 2).sum() * p["b"])({"w": x, "b": x[0]}),
    "grad and value": lambda t, a, x: t.func.grad_and_value(lambda x, y: (x * y).sum(), argnums=(0, 1))(x, x + 1),
    "grad with more": lambda t, a, x: t.func.grad(lambda x: (x.sum(), x * 2), has_aux=True)(x),
    "jacrev": lambda t, a, x: t.func.jacrev(lambda x: (a @ x).tanh())(x),
    "jacrev of several": lambda t, a, x: t.func.jacrev(lambda x, y: (x * y, x + y), argnums=(0, 1))(x, x),
    "jacfwd": lambda t, a, x: t.func.jacfwd(lambda x: (a @ x).tanh())(x),
    "hessian": lambda t, a, x: t.func.hessian(lambda x: (a @ x).tanh().pow(2).sum())(x),
    "vjp": lambda t, a, x: t.func.vjp(lambda x: a @ x, x)[1](t.ones(4)),
    "jvp": lambda t, a, x: t.func.jvp(lambda x: (a @ x).sin(), (x,), (t.ones(3),)),
    "jvp of a dict": lambda t, a, x: t.func.jvp(
        lambda p: {"y": p["w"] * p["b"]}, ({"w": x, "b": x},), ({"w": x, "b": x},)
    ),
    "vmap": lambda t, a, x: t.vmap(lambda row, x: row @ x, in_dims=(0, None))(a, x),
    "vmap of columns": lambda t, a, x: t.vmap(t.dot, in_dims=(1, 1))(a, a),
    "vmap to columns": lambda t, a, x: t.vmap(lambda row: row * 2, out_dims=1)(a),
    "vmap of a dict": lambda t, a, x: t.vmap(lambda d: (d["a"], d["a"] * d["b"]), in_dims=({"a": 0, "b": None},))(
        {"a": a, "b": x}
    ),
    "vmap of vmap": lambda t, a, x: t.vmap(t.vmap(t.mul))(a, a),
    "a gradient for each row": lambda t, a, x: t.vmap(t.func.grad(_loss_of(t)[1]), in_dims=(None, 0))(
        _loss_of(t)[0], a
    ),
    "no way to the argument": lambda t, a, x: t.func.grad(lambda x, y: y.sum())(x, x),
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own
@pytest.mark.parametrize("case", CASES)
def test_functions_of_functions_are_torchs(case):
    results = []
    for library in torch, torchlike:
        found = CASES[case](library, *_data(library))
        leaves = (
            library.utils.pytree.tree_flatten(found)[0]
            if library is torchlike
            else torch.utils._pytree.tree_flatten(found)[0]
        )
        results.append([(leaf.requires_grad, leaf.detach().numpy()) for leaf in leaves])
    assert [each[0] for each in results[0]] == [each[0] for each in results[1]]
    for (_, expected), (_, actual) in zip(*results, strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("library", [torch, torchlike])
def test_history_is_kept_where_it_reaches_the_tensors_of_others(library):
    weight, x = library.ones(2, requires_grad=True), library.tensor([3.0, 4.0])
    slope = library.func.grad(lambda x: (weight**2 * x**2).sum())(x)
    slope.sum().backward()
    assert weight.grad.tolist() == [12.0, 16.0]
    y = x.clone().requires_grad_()
    library.func.grad(lambda x: (x**3).sum())(y).sum().backward()
    assert y.grad.tolist() == [18.0, 24.0]


def test_states_of_equal_modules_are_stacked():
    layers = [torchlike.nn.BatchNorm1d(3) for _ in range(2)]
    parameters, buffers = torchlike.func.stack_module_state(layers)
    assert parameters["weight"].shape == (2, 3) and parameters["weight"].requires_grad and parameters["weight"].is_leaf
    assert buffers["running_mean"].shape == (2, 3)
    x = torchlike.ones(2, 4, 3)
    made = torchlike.vmap(lambda p, b, x: torchlike.func.functional_call(layers[0].eval(), (p, b), (x,)))(
        parameters, buffers, x
    )
    assert made.shape == (2, 4, 3)
    with pytest.raises(ValueError, match="same size in the mapped dimension"):
        torchlike.vmap(torchlike.add)(torchlike.ones(2), torchlike.ones(3))
    with pytest.raises(RuntimeError, match="scalar Tensor"):
        torchlike.func.grad(torchlike.sin)(torchlike.ones(2))


def double_by_rule(library, seen):
    """Return a function with a rule of its own for batches, which keeps what it is told."""

    class Double(library.autograd.Function):
        @staticmethod
        def forward(x, y):
            return x * y

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, grad):
            x, y = ctx.saved_tensors
            return grad * y, grad * x

        @staticmethod
        def vmap(info, in_dims, x, y):
            seen.append((info.batch_size, in_dims, tuple(x.shape), tuple(y.shape)))
            x, y = (each if dim is None else each.movedim(dim, 0) for each, dim in zip((x, y), in_dims, strict=True))
            return Double.apply(x, y), 0

    return Double.apply


def map_by_rule(library, in_dims):
    """Return what a function with a rule gives under `vmap`, its gradient, and what the rule was told."""
    seen = []
    double = double_by_rule(library, seen)
    first, second = in_dims if isinstance(in_dims, tuple) else (in_dims, in_dims)
    x = library.arange(8.0).reshape(2, 2, 2)
    x, y = x if first is not None else x[0], (x + 1) if second is not None else x[0] + 1
    made = library.func.vmap(double, in_dims, out_dims=1)(x, y)
    slopes = library.func.grad(lambda x: library.func.vmap(double, in_dims)(x, y).sum())(x)
    return made.tolist(), slopes.tolist(), seen


@pytest.mark.parametrize("in_dims", [0, 1, 2, -1, (0, 2), (2, None), (None, 1), (-2, 1)])
def test_a_static_rule_is_told_of_the_dimensions_of_the_caller(in_dims):
    assert map_by_rule(torchlike, in_dims) == map_by_rule(torch, in_dims)


AUXILIARY = [7, "text", None, {"k": [1, 2.5]}, (object, [])]


@pytest.mark.parametrize("aux", AUXILIARY, ids=str)
def test_auxiliary_values_are_of_any_kind(aux):
    func, x = torchlike.func, torchlike.tensor([1.0, 2.0])
    mixed = {"values": aux, "tensors": [x, None]}
    for given in aux, mixed:
        found = [
            func.grad(lambda x, given=given: (x.sum(), given), has_aux=True)(x)[1],
            func.grad_and_value(lambda x, given=given: (x.sum(), given), has_aux=True)(x)[1][1],
            func.vjp(lambda x, given=given: (x * 2, given), x, has_aux=True)[2],
            func.jvp(lambda x, given=given: (x * 2, given), (x,), (x,), has_aux=True)[2],
            func.jacrev(lambda x, given=given: (x * 2, given), has_aux=True)(x)[1],
            func.jacfwd(lambda x, given=given: (x * 2, given), has_aux=True)(x)[1],
        ]
        assert [repr(each) for each in found] == [repr(given)] * 6
