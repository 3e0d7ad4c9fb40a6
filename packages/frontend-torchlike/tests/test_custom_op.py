"""Operators of one's own: gradients flow through them, and the layers see them as any other."""

from __future__ import annotations

import numpy as np
import pytest

import dispatch_core as dc
import torchlike
from torchlike import Tensor, tensor


@pytest.fixture
def define():
    """Make custom operators that are taken back after the test."""
    made = []

    def define(fn, **options):
        made.append(dc.custom_op(f"test_custom_op::{fn.__name__}", fn, **{"mutates_args": (), **options}))
        return made[-1]

    yield define
    for each in made:
        each.close()


@pytest.fixture
def scale(define):
    def scale(x: Tensor, factor: float = 2.0) -> Tensor:
        return x * x * factor

    op = define(scale)

    def setup_context(ctx, inputs, output):
        x, ctx.factor = inputs
        ctx.save_for_backward(x, output)

    def backward(ctx, grad):
        assert ctx.needs_input_grad == (True, False)
        x, output = ctx.saved_tensors
        return grad * 2 * ctx.factor * x + 0 * output, None

    op.register_autograd(backward, setup_context=setup_context)
    op.register_fake(lambda x, factor: torchlike.empty_like(x))
    return op


def test_gradients_flow(scale):
    x = tensor([1.0, 2.0], requires_grad=True)
    y = scale(x, 3.0)
    assert y.grad_fn.name() == "GeneratedBackwardFor_test_custom_op_scale_defaultBackward"
    (y * 10).sum().backward()
    assert x.grad.tolist() == [60.0, 120.0]


def test_gradients_of_gradients(scale):
    x = tensor(2.0, requires_grad=True)
    (first,) = torchlike.autograd.grad(scale(x), x, create_graph=True)
    (second,) = torchlike.autograd.grad(first, x)
    assert (first.item(), second.item()) == (8.0, 4.0)


def test_nothing_is_recorded_without_need(scale):
    x = tensor([1.0], requires_grad=True)
    with torchlike.no_grad():
        assert not scale(x).requires_grad
    assert not scale(x.detach()).requires_grad
    assert scale(x[:]).requires_grad
    assert scale(tensor([3.0])).tolist() == [18.0]


def test_the_function_runs_below_autograd(define):
    seen = []

    def look(x: Tensor) -> Tensor:
        y = x * 2
        seen.append((x.requires_grad, y.requires_grad))
        return y

    op = define(look)
    op.register_autograd(lambda ctx, grad: grad * 2)
    x = tensor([1.0], requires_grad=True)
    op(x).sum().backward()
    assert seen == [(True, False)]
    assert x.grad.tolist() == [2.0]


def test_an_operator_without_a_formula_says_so_in_backward(define):
    def plain(x: Tensor) -> Tensor:
        return x + 1

    y = define(plain)(tensor([1.0], requires_grad=True))
    assert y.requires_grad
    with pytest.raises(NotImplementedError, match="derivative for test_custom_op::plain is not implemented") as caught:
        y.sum().backward()
    assert "dispatch_core.register_autograd" in str(caught.value)


def test_lists_of_tensors_have_lists_of_gradients(define):
    def mix(xs: list[Tensor], y: Tensor | None, ns: list[int]) -> tuple[list[Tensor], Tensor, int]:
        return [x * n for x, n in zip(xs, ns, strict=True)], xs[0] + (0 if y is None else y), 7

    op = define(mix)

    def setup_context(ctx, inputs, output):
        ctx.ns = inputs[2]
        assert [len(output[0]), output[2]] == [2, 7]

    def backward(ctx, grads, grad, nothing):
        assert nothing is None
        assert ctx.needs_input_grad[0] == [True, False]
        return [grads[0] * ctx.ns[0] + grad, None], grad if ctx.needs_input_grad[1] else None, None

    op.register_autograd(backward, setup_context=setup_context)
    a, b, c = (tensor([1.0, 1.0], requires_grad=needs) for needs in (True, False, True))
    (first, second), third, number = op([a, b], c, [3, 4])
    assert (first.tolist(), second.tolist(), third.tolist(), number) == ([3.0, 3.0], [4.0, 4.0], [2.0, 2.0], 7)
    (first.sum() + third.sum()).backward()
    assert a.grad.tolist() == [4.0, 4.0]
    assert c.grad.tolist() == [1.0, 1.0]
    assert b.grad is None
    assert op((b, b), None, [1, 2])[1].tolist() == [1.0, 1.0]


def test_a_result_that_is_a_list_alone(define):
    def parts(x: Tensor) -> list[Tensor]:
        return [x * 1, x * 2]

    op = define(parts)
    op.register_autograd(lambda ctx, grads: grads[0] + grads[1] * 2)
    x = tensor([1.0], requires_grad=True)
    first, second = op(x)
    (first + second).sum().backward()
    assert x.grad.tolist() == [3.0]


def test_keyword_only_arguments_reach_the_context(define):
    def power(x: Tensor, *, n: int = 2) -> Tensor:
        return x**n

    op = define(power)

    def setup_context(ctx, inputs, keyword_only_inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.n = keyword_only_inputs["n"]

    op.register_autograd(lambda ctx, grad: grad * ctx.n * ctx.saved_tensors[0], setup_context=setup_context)
    x = tensor([3.0], requires_grad=True)
    op(x).sum().backward()
    assert x.grad.tolist() == [6.0]


def test_a_wrong_number_of_gradients_is_refused(define):
    def add(x: Tensor, y: Tensor, n: int) -> Tensor:
        return x + y

    op = define(add)
    x = tensor([1.0], requires_grad=True)
    op.register_autograd(lambda ctx, grad: (grad, grad))
    with pytest.raises(
        RuntimeError, match=r"test_custom_op::add returned an incorrect number .* \(expected 3, got 2\)"
    ):
        op(x, x, 1).sum().backward()
    op.register_autograd(lambda ctx, grad: (grad, grad, None, None))
    op(x, x, 1).sum().backward()
    assert x.grad.tolist() == [2.0]


def test_a_list_needs_a_list_of_gradients(define):
    def total(xs: list[Tensor]) -> Tensor:
        return xs[0] + xs[1]

    op = define(total)
    x = tensor([1.0], requires_grad=True)
    op.register_autograd(lambda ctx, grad: grad)
    with pytest.raises(
        RuntimeError, match="must return a list of 2 gradients, or None, for the list 'xs', but returned Tensor"
    ):
        op([x, x]).sum().backward()
    op.register_autograd(lambda ctx, grad: (None,))
    op([x, x]).sum().backward()
    assert x.grad is None


def test_saved_tensors_are_checked(scale):
    x = tensor([1.0], requires_grad=True) * 1
    y = scale(x)
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_functions_for_arrays_are_registered_for_their_device(define):
    def sine(x: np.ndarray) -> np.ndarray:
        assert type(x) is np.ndarray
        return np.sin(x)

    op = define(sine, device_types="cpu")
    op.register_autograd(
        lambda ctx, grad: grad * ctx.saved_tensors[0].cos(),
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )
    x = tensor([0.0, 1.0], requires_grad=True)
    op(x).sum().backward()
    assert np.allclose(x.grad.numpy(), np.cos([0.0, 1.0]))
    assert np.array_equal(op(np.zeros(2)), np.zeros(2))


@pytest.mark.parametrize("device_types", [None, "cpu"])
def test_written_arguments_move_their_versions(define, device_types):
    def fill(x: Tensor, value: float, out: Tensor | None = None) -> None:
        for each in (x, out):
            array = each if isinstance(each, np.ndarray | None) else each.numpy()
            if array is not None:
                array[...] = value

    op = define(fill, mutates_args=["x", "out"], device_types=device_types)
    x, out = torchlike.zeros(2), torchlike.zeros(2)
    y = torchlike.ones(2, requires_grad=True) * x
    assert op(x, 3.0) is None
    op(x, 4.0, out)
    assert (x.tolist(), out.tolist(), x._version, out._version) == ([4.0, 4.0], [4.0, 4.0], 2, 1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_a_leaf_that_requires_grad_cannot_be_written(define):
    def clear(x: Tensor) -> None:
        x.zero_()

    op = define(clear, mutates_args=["x"])
    x = torchlike.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        op(x)
    with torchlike.no_grad():
        op(x)
    assert x.tolist() == [0.0, 0.0]
    with pytest.raises(
        dc.RegistrationError, match="an autograd formula can be registered for a functional operator only"
    ):
        op.register_autograd(lambda ctx, grad: grad)


def test_the_fake_gives_shapes_on_meta(scale):
    x = torchlike.ones(2, 3, requires_grad=True).to("meta")
    y = scale(x)
    assert (y.device.type, tuple(y.shape), y.requires_grad) == ("meta", (2, 3), True)


def test_opcheck_passes_and_finds_faults(scale, define):
    x = torchlike.ones(2, 3, requires_grad=True)
    success = {"test_schema": "SUCCESS", "test_autograd_registration": "SUCCESS", "test_faketensor": "SUCCESS"}
    assert dc.opcheck(scale, (x,)) == success
    assert dc.opcheck(scale, (x * 2, 3.0)) == success
    assert dc.opcheck(scale, (x.t(),)) == success
    scale.register_fake(lambda x, factor: torchlike.empty(x.shape[::-1], device="meta"))
    with pytest.raises(
        dc.OpCheckError, match=r"test_faketensor failed: result 0 has shape \(2, 3\), but its fake \(3, 2\)"
    ):
        dc.opcheck(scale, (x,))

    def sly(x: Tensor) -> Tensor:
        x.add_(1)
        return x * 1

    with pytest.raises(dc.OpCheckError, match="test_schema failed: argument 'x' was written to"):
        dc.opcheck(define(sly), (torchlike.ones(2),))


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("add.Tensor", lambda: (torchlike.ones(2, requires_grad=True), torchlike.ones(3, 1))),
        ("add_.Tensor", lambda: (torchlike.ones(2), torchlike.ones(2))),
        ("mm", lambda: (torchlike.ones(2, 3, requires_grad=True), torchlike.ones(3, 4))),
        ("t", lambda: (torchlike.ones(2, 3),)),
        ("split.Tensor", lambda: (torchlike.ones(4), 2)),
        ("cat", lambda: ([torchlike.ones(2), torchlike.ones(1)],)),
        ("relu", lambda: (torchlike.ones(2, requires_grad=True),)),
    ],
)
def test_torchs_operators_pass_opcheck(name, make):
    packet, _, overload = name.partition(".")
    op = getattr(getattr(dc.ops.aten, packet), overload or "default")
    assert set(dc.opcheck(op, make()).values()) == {"SUCCESS"}


def test_formulas_for_operators_that_a_library_defines():
    with dc.Library("test_custom_op", "FRAGMENT") as library:
        library.define("third(Tensor x) -> Tensor")
        op = dc.ops.test_custom_op.third.default
        dc.register_kernel(op, "cpu", lambda x: x / 3, lib=library)
        dc.register_autograd("test_custom_op::third", lambda ctx, grad: grad / 3, lib=library)
        dc.register_fake("test_custom_op::third", lib=library)(torchlike.empty_like)
        x = tensor([3.0], requires_grad=True)
        y = op(x)
        y.sum().backward()
        assert (y.tolist(), x.grad.tolist()) == ([1.0], [pytest.approx(1 / 3)])
        assert set(dc.opcheck(op, (x,)).values()) == {"SUCCESS"}
    with pytest.raises(dc.ClosedOperatorError):
        op(x)


def test_an_override_goes_on_to_the_kernel_it_replaces():
    x = tensor([-1.0, 2.0], requires_grad=True)  # It loads the backend whose kernel is meant.
    before = dc.get_kernel("aten::relu.default", "CPU")
    calls = []
    with dc.Library("aten", "IMPL", "CPU") as patch:

        @patch.impl("relu", with_keyset=True, allow_override=True)
        def relu(keyset, x):
            calls.append(type(x))
            return before.call_boxed(keyset, x)

        torchlike.relu(x).sum().backward()
        assert x.grad.tolist() == [0.0, 1.0]
        assert calls == [np.ndarray]
    assert torchlike.relu(tensor([-1.0])).tolist() == [0.0]
    assert len(calls) == 1


def test_hints_may_be_torchlikes_own():
    def f(
        x: Tensor,
        p: torchlike.nn.Parameter,
        dtype: torchlike.dtype = torchlike.float64,
        device: torchlike.device | None = None,
    ) -> Tensor: ...

    assert (
        dc.infer_schema(f, mutates_args=())
        == "(Tensor x, Tensor p, ScalarType dtype=float64, Device? device=None) -> Tensor"
    )


def test_a_dtype_default_arrives_as_it_is(define):
    def cast(x: Tensor, dtype: torchlike.dtype = torchlike.float64) -> Tensor:
        assert type(dtype) is torchlike.dtype
        return x.to(dtype)

    assert define(cast)(torchlike.ones(1)).dtype is torchlike.float64


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("is_operator", [False, True])
def test_gradients_that_are_no_tensors_or_do_not_fit_are_named_by_their_index(is_operator, place):
    returned = [None]

    def give(ctx, grad):
        return tuple(returned[0] if index == place else grad for index in range(3))

    if is_operator:
        call = dc.custom_op(
            f"misfits::f{place}",
            lambda x, y, z: x * y * z,
            mutates_args=(),
            schema="(Tensor x, Tensor y, Tensor z) -> Tensor",
        )
        call.register_autograd(give)
    else:
        members = {"forward": staticmethod(lambda ctx, x, y, z: x * y * z), "backward": staticmethod(give)}
        call = type("Misfit", (torchlike.autograd.Function,), members).apply
    for returned[0], text in (
        (1.5, rf"at index {place}: expected Tensor or None \(got float\)"),
        (torchlike.ones(3), rf"invalid gradient at index {place} - got \[3\] but expected shape compatible with \[2\]"),
    ):
        inputs = [torchlike.ones(2, requires_grad=True) for _ in range(3)]
        with pytest.raises(RuntimeError, match=text):
            call(*inputs).sum().backward()
