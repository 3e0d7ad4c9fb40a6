"""Hooks on saved tensors, anomaly mode, checks by differences, and the functions of ``autograd.functional``."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import torchlike
from torchlike.autograd import functional, gradcheck, gradgradcheck, graph
from torchlike.autograd.function import Function


def leaf(*values):
    return torchlike.tensor(values, dtype=torchlike.float64, requires_grad=True)


def compute(x):
    return (x.exp() * x).softmax(0).prod() + x @ x


def test_packed_tensors_give_the_same_gradients_twice():
    x, packed = leaf(2.0, 3.0), []

    def pack(tensor):
        packed.append(tensor.numpy().copy())
        return len(packed) - 1

    with graph.saved_tensors_hooks(pack, lambda place: torchlike.tensor(packed[place])):
        y = compute(x)
    (first,) = torchlike.autograd.grad(y, x, create_graph=True)
    (second,) = torchlike.autograd.grad(first.sum(), x)
    (plain,) = torchlike.autograd.grad(compute(x), x, create_graph=True)
    assert first.tolist() == plain.tolist()
    assert second.tolist() == torchlike.autograd.grad(plain.sum(), x)[0].tolist()
    assert len(packed) >= 6


def test_packed_tensors_of_custom_functions_and_freed_graphs():
    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            return grad * 2 * ctx.saved_tensors[0]

    x = leaf(3.0)
    with graph.saved_tensors_hooks(lambda tensor: tensor.numpy(), torchlike.tensor):
        y = Square.apply(x)
        z = x.exp()
    y.backward()
    assert x.grad.tolist() == [6.0]
    z.backward()
    with pytest.raises(RuntimeError, match="second time"):
        z.backward()


def test_hooks_that_write_or_return_no_tensor_are_refused():
    x = leaf(1.0)
    with graph.saved_tensors_hooks(lambda tensor: tensor.mul_(2), lambda tensor: tensor), torchlike.no_grad():
        pass
    with pytest.raises(RuntimeError, match="in place"), graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t):
        (x * 1).exp()
    with graph.saved_tensors_hooks(lambda tensor: "text", lambda text: text):
        y = x.exp()
    with pytest.raises(TypeError, match="unpack_hook expected to be a Tensor"):
        y.backward()
    with graph.disable_saved_tensors_hooks("not here"), pytest.raises(RuntimeError, match="not here"):
        graph.save_on_cpu().__enter__()


def test_anomaly_mode_names_the_forward_line():
    x = leaf(-1.0)
    with torchlike.autograd.detect_anomaly(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        y = x.sqrt()  # the line
        with pytest.raises(RuntimeError, match="Function 'SqrtBackward0' returned nan values in its 0th output"):
            y.backward()
    assert "y = x.sqrt()  # the line" in str(caught[0].message)
    assert not torchlike.autograd.is_anomaly_enabled()
    with torchlike.autograd.set_detect_anomaly(True, check_nan=False):
        x.sqrt().backward()
    assert np.isnan(x.grad.numpy()).all()


def test_checks_find_wrong_gradients():
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x):
            return x * x

        @staticmethod
        def backward(ctx, grad):
            return grad

    x, z = leaf(0.3, 0.7), torchlike.tensor([0.3 + 1j, 2 - 0.5j], dtype=torchlike.complex128, requires_grad=True)
    assert gradcheck(compute, (x,), check_forward_ad=True)
    assert gradgradcheck(compute, (x,), check_fwd_over_rev=True)
    assert gradcheck(lambda z: (z * z.sin()).abs(), (z,), check_forward_ad=True)
    with pytest.raises(
        torchlike.autograd.GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0"
    ):
        gradcheck(Wrong.apply, (x,))
    assert not gradcheck(Wrong.apply, (x,), raise_exception=False)
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        gradcheck(compute, (x.detach(),))
    with pytest.warns(UserWarning, match="not a double precision"):
        gradcheck(compute, (torchlike.tensor([0.5, 0.1], requires_grad=True),), eps=1e-2, atol=1e-1)


def test_products_with_jacobians_agree_with_the_jacobian():
    def func(x, y):
        return x * y, (x * x).sum()

    x, y = leaf(1.0, 2.0).detach(), leaf(3.0, 4.0).detach()
    v, w = leaf(0.5, -1.0).detach(), leaf(2.0, 1.0).detach()
    (xx, xy), (sx, sy) = functional.jacobian(func, (x, y))
    assert xx.tolist() == [[3, 0], [0, 4]] and xy.tolist() == [[1, 0], [0, 2]]
    outputs, moved = functional.jvp(func, (x, y), (v, w))
    assert moved[0].tolist() == (xx @ v + xy @ w).tolist()
    assert moved[1].item() == (sx @ v + sy @ w).item()
    _, pulled = functional.vjp(func, (x, y), (v, torchlike.tensor(2.0, dtype=torchlike.float64)))
    assert pulled[0].tolist() == (v @ xx + 2 * sx).tolist()
    assert outputs[1].item() == 5.0


def test_products_with_hessians_agree_with_the_hessian():
    def func(x, y):
        return (x**3 * y).sum() + x.prod()

    x, y, v, w = (each.detach() for each in (leaf(1.0, 2.0), leaf(3.0, 4.0), leaf(0.5, -1.0), leaf(2.0, 1.0)))
    (a, b), (c, d) = functional.hessian(func, (x, y))
    wanted = [(a @ v + b @ w).tolist(), (c @ v + d @ w).tolist()]
    for product in (functional.hvp, functional.vhp):
        assert [each.tolist() for each in product(func, (x, y), (v, w))[1]] == wanted


def test_strict_functions_refuse_independent_outputs():
    x = leaf(1.0).detach()
    with pytest.raises(RuntimeError, match="does not require gradients"):
        functional.vjp(lambda x: torchlike.ones(1), x, strict=True)
    assert functional.jacobian(lambda x: torchlike.ones(2), x).tolist() == [[0.0], [0.0]]
    with pytest.raises(RuntimeError, match="invalid size"):
        functional.vjp(lambda x: x, x, torchlike.ones(2))
    with pytest.raises(TypeError, match="must be either a Tensor or a tuple"):
        functional.vjp(lambda x: x, [x])


def test_hooks_on_several_tensors():
    x, y, seen = leaf(1.0), leaf(2.0), []
    handle = graph.register_multi_grad_hook([x, y], lambda grads: seen.append([each.item() for each in grads]))
    graph.register_multi_grad_hook([x, y], lambda grad: seen.append(grad.item()), mode="any")
    (x * y).backward(retain_graph=True)
    assert [2.0, 1.0] in seen
    assert len(seen) == 2
    handle.remove()
    assert graph.get_gradient_edge(x * y).output_nr == 0


#: Ways in which a backward computes three times its gradient, in the gradient's own memory.
WRITES = {
    "mul_": lambda grad: grad.mul_(3),
    "add_ to a view": lambda grad: (grad.t().add_(grad.clone().t(), alpha=2), grad)[1],
    "copy_": lambda grad: grad.copy_(grad * 3),
    "rows": lambda grad: [grad.__setitem__(row, grad[row] * 3) for row in range(len(grad))] and grad,
    "detached": lambda grad: (grad.detach().mul_(3), grad)[1],
}
#: Functions of an input and of a function whose backward writes: one consumer and several, fresh and shared gradients.
USES = {
    "alone": lambda x, f: f(x),
    "twice": lambda x, f: f(x) + f(x) * 2,
    "beside": lambda x, f: f(x) + x,
    "behind": lambda x, f: f(x * x).sin(),
    "in a row": lambda x, f: f(f(x)) * x,
    "a sum": lambda x, f: f(x).sum(0, keepdim=True) + f(x),
    "a view": lambda x, f: f(x.t()).t() + f(x),
}


def triple(change):
    class Triple(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x * 3

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, grad):
            return change(grad)

    return Triple.apply


@pytest.mark.parametrize("change", WRITES)
@pytest.mark.parametrize("use", USES)
def test_a_backward_that_writes_to_its_gradient_writes_to_nobody_elses(change, use):
    values = torchlike.tensor([[1.0, -2.0], [0.5, 3.0]], dtype=torchlike.float64)
    given = torchlike.tensor([[1.0, 10.0], [-1.0, 0.5]], dtype=torchlike.float64)
    found = []
    for function in (triple(WRITES[change]), lambda x: x * 3):
        weight, seen, x = given.clone(), [], values.clone().requires_grad_()

        def use_hooked(x, seen=seen, function=function):
            y = USES[use](x, function)
            y.register_hook(seen.append)
            return y

        y = use_hooked(x)
        y.retain_grad()
        y.backward(weight, retain_graph=True)
        y.backward(weight)
        _, pull = torchlike.func.vjp(lambda x, f=function: USES[use](x, f), values)
        pulled = pull(weight)[0]
        found.append([x.grad, y.grad, *seen, weight, pulled])
        if change != "rows":  # a list of calls that vmap would not see
            found[-1] += [torchlike.func.vmap(pull)(torchlike.stack([weight, weight]))[0]]
        found[-1] += [weight, torchlike.func.jacrev(lambda x, f=function: USES[use](x, f))(values)]
    for actual, expected in zip(*found, strict=True):
        np.testing.assert_allclose(actual.detach().numpy(), expected.detach().numpy(), rtol=1e-12)
    np.testing.assert_array_equal(found[0][-2].numpy(), given.numpy())


@pytest.mark.parametrize("point", [[3.0, 1.0], [1 + 2j, 3 - 1j]])
def test_jacobians_by_directions_are_derivatives_of_complex_functions(point):
    x = torchlike.tensor(point)
    options = {"strategy": "forward-mode", "vectorize": True}
    assert functional.jacobian(torchlike.fft.fft, x, **options).tolist() == [[1, 1], [1, -1]]
    assert functional.jacobian(lambda x: x * x, x, **options).tolist() == (2 * x).diag().tolist()
    conjugate = (2 * x).conj().resolve_conj().diag().tolist()
    assert functional.jacobian(lambda x: x * x, x, vectorize=True).tolist() == conjugate
    length = functional.jacobian(lambda x: x.abs(), x, **options)
    assert length.dtype is torchlike.float32 and length.diag().tolist() == pytest.approx((x.real / x.abs()).tolist())
    with pytest.raises(RuntimeError, match="strict=True"):
        functional.jacobian(torchlike.fft.fft, x, strict=True, **options)
