"""Gradients compared with finite differences (source: ``torch.autograd.gradcheck``)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..functions import FUNCTIONS
from ..history.device_keys import autograd_bit
from ..history.grad_mode import enable_grad
from ..history.node import Node, next_sequence
from ..tensors import Tensor
from .forward_ad import dual_level, make_dual, unpack_dual
from .gradients import grad

_HINT = "check the derivative formula, or pass float64 inputs"


class GradcheckError(RuntimeError):
    """A gradient differs from finite differences (source: ``torch.autograd.gradcheck.GradcheckError``)."""


def _to_tuple(values: Any) -> tuple[Any, ...]:
    return tuple(values) if isinstance(values, (list, tuple)) else (values,)


def _differentiable(values: Any) -> list[Tensor]:
    return [each for each in _to_tuple(values) if isinstance(each, Tensor) and each.requires_grad]


def _read(tensor: Tensor) -> np.ndarray[Any, Any]:
    return np.asarray(tensor.detach().cpu().contiguous().numpy()).reshape(-1)


def _outputs(func: Callable[..., Any], inputs: Sequence[Any]) -> list[Tensor]:
    found = _to_tuple(func(*inputs))
    return [each for each in found if isinstance(each, Tensor) and each.dtype.is_differentiable]


def _numerical(func: Callable[..., Any], inputs: Sequence[Any], place: int, eps: float) -> list[np.ndarray[Any, Any]]:
    """Return the derivatives of each output by the elements of an input, a row each; a complex element has two.

    The input itself is moved and put back: ``func`` may know it by identity, and whether it requires grad.
    """
    tensor = inputs[place]
    ways = (1.0, 1j) if tensor.dtype.is_complex else (1.0,)
    values, rows, data = _read(tensor).copy(), [], tensor.data
    try:
        for way in ways:
            for number in range(values.size):
                ends = []
                for sign in (-1, 1):
                    moved = values.copy()
                    moved[number] += sign * eps * way
                    data.copy_(_from(moved, tensor))
                    ends.append([(_read(each).copy(), each.shape, each.dtype) for each in _outputs(func, inputs)])
                rows.append([_slope(low, high, eps, number) for low, high in zip(*ends, strict=True)])
    finally:
        data.copy_(_from(values, tensor))
    count = len(rows[0]) if rows else len(_outputs(func, inputs))
    return [np.array([row[output] for row in rows]) for output in range(count)]


def _slope(low: tuple[Any, ...], high: tuple[Any, ...], eps: float, number: int) -> np.ndarray[Any, Any]:
    for what, one, other in zip(("shape", "dtype"), low[1:], high[1:], strict=True):
        if one != other:
            raise AssertionError(
                f"Expected `func` to return outputs with the same {what} when inputs are perturbed on index {number}, "
                f"but got:\n {what}s {one} and {other}."
            )
    slope: np.ndarray[Any, Any] = (high[0] - low[0]) / (2 * eps)
    return slope


def _from(values: np.ndarray[Any, Any], like: Tensor) -> Tensor:
    made: Tensor = like.new_tensor(values.reshape(tuple(like.shape)))
    return made


def _analytical(outputs: Sequence[Tensor], tensor: Tensor) -> list[np.ndarray[Any, Any]]:
    """Return the same from backward: the derivative along a direction is the inner product with the gradient."""
    found = []
    for output in outputs:
        columns, is_complex = [], output.dtype.is_complex
        for number in range(output.numel()):
            parts = []
            for way in (1.0, 1j) if is_complex else (1.0,):
                weight = FUNCTIONS["zeros_like"](output.detach()).reshape(-1)
                weight[number] = way
                got = None
                if output.requires_grad:
                    (got,) = grad(output, tensor, weight.reshape(output.shape), retain_graph=True, allow_unused=True)
                flat = (
                    np.zeros(tensor.numel(), complex if tensor.dtype.is_complex else float)
                    if got is None
                    else _read(got)
                )
                # For a real function of the element and a direction d the derivative is Re(conj(gradient) d).
                parts.append(np.concatenate([flat.real, flat.imag]) if tensor.dtype.is_complex else flat)
            columns.append(parts[0] + 1j * parts[1] if is_complex else parts[0])
        rows = tensor.numel() * (2 if tensor.dtype.is_complex else 1)
        found.append(np.stack(columns, 1) if columns else np.zeros((rows, 0)))
    return found


def _forward(func: Callable[..., Any], inputs: Sequence[Any], place: int) -> list[np.ndarray[Any, Any]]:
    """Return the same from dual numbers."""
    tensor, rows = inputs[place], []
    for way in (1.0, 1j) if tensor.dtype.is_complex else (1.0,):
        for number in range(tensor.numel()):
            direction = FUNCTIONS["zeros_like"](tensor.detach()).reshape(-1)
            direction[number] = way
            with dual_level():
                dual = make_dual(tensor.detach(), direction.reshape(tensor.shape))
                given = [*inputs[:place], dual, *inputs[place + 1 :]]
                parts = [unpack_dual(each) for each in _outputs(func, given)]
            rows.append([np.zeros(primal.numel()) if tangent is None else _read(tangent) for primal, tangent in parts])
    count = len(rows[0]) if rows else len(_outputs(func, inputs))
    return [np.array([row[output] for row in rows]) for output in range(count)]


def _compare(
    kind: str, wanted: list[Any], found: list[Any], outputs: Sequence[Tensor], place: int, atol: float, rtol: float
) -> None:
    """Compare Jacobians; of complex outputs the imaginary parts first."""
    pairs = list(zip(wanted, found, outputs, strict=True))
    for part in ("imag", "real") if any(each.dtype.is_complex for each in outputs) else ("",):
        where = (
            f"While considering the {part}{'inary' * (part == 'imag')} part of complex outputs only, " if part else ""
        )
        for output, (numerical, analytical, tensor) in enumerate(pairs):
            one, other = (
                (getattr(numerical, part), getattr(analytical, part))
                if part and tensor.dtype.is_complex
                else (numerical, analytical)
            )
            if numerical.size and not np.allclose(other, one, rtol, atol, equal_nan=True):
                raise GradcheckError(
                    f"{where}Jacobian {kind}mismatch for output {output} with respect to input {place},\n"
                    f"numerical:{one}\nanalytical:{other}\nHint: {_HINT}"
                )


def _check_inputs(inputs: Sequence[Any]) -> bool:
    wanted = [each for each in inputs if isinstance(each, Tensor) and each.requires_grad]
    if not wanted:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of the them have requires_grad=True."
        )
    for number, each in enumerate(inputs):
        if (
            isinstance(each, Tensor)
            and each.requires_grad
            and each.dtype.itemsize < (16 if each.dtype.is_complex else 8)
        ):
            warnings.warn(
                f"Input #{number} requires gradient and is not a double precision floating point or complex. "
                "This check will likely fail if all the inputs are not of double precision floating point or complex. ",
                UserWarning,
                stacklevel=4,
            )
    return True


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Return whether the gradients of ``func`` agree with finite differences of step ``eps``.

    Every element of every input that requires grad is moved, also with ``fast_mode``. Raises `GradcheckError` with both
    Jacobians where they differ, or returns False without ``raise_exception``.

    >>> import torchlike
    >>> x = torchlike.rand(3, dtype=torchlike.float64, requires_grad=True)
    >>> gradcheck(torchlike.sin, (x,))
    True
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    given = _to_tuple(inputs)
    try:
        _check_inputs(given)
        outputs = _outputs(func, given)
        if not any(each.requires_grad for each in outputs):
            if any(np.any(part) for place in _places(given) for part in _numerical(func, given, place, eps)):
                raise GradcheckError("Numerical gradient for function expected to be zero")
            return True
        wanted = {place: _numerical(func, given, place, eps) for place in _places(given)}
        if check_backward_ad:
            _check_backward(given, outputs, wanted, atol, rtol, nondet_tol, check_grad_dtypes)
        if check_forward_ad:
            for place, each in wanted.items():
                found = _forward(func, given, place)
                _compare("computed with forward mode ", each, found, outputs, place, atol, rtol)
        if check_backward_ad and check_undefined_grad:
            _check_undefined(func, given)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _check_backward(
    inputs: tuple[Any, ...],
    outputs: list[Tensor],
    wanted: dict[int, list[np.ndarray[Any, Any]]],
    atol: float,
    rtol: float,
    nondet_tol: float,
    check_grad_dtypes: bool,
) -> None:
    for place, numerical in wanted.items():
        found = _analytical(outputs, inputs[place])
        again = _analytical(outputs, inputs[place])
        if any(np.any(np.abs(one - two) > nondet_tol) for one, two in zip(found, again, strict=True)):
            raise GradcheckError(
                "Backward is not reentrant, i.e., running backward with same input and grad_output multiple "
                "times gives different values, although analytical gradient matches numerical gradient."
            )
        _compare("", numerical, found, outputs, place, atol, rtol)
        if check_grad_dtypes:
            for output in outputs:
                (got,) = grad(
                    output, inputs[place], FUNCTIONS["ones_like"](output.detach()), retain_graph=True, allow_unused=True
                )
                if got is not None and got.dtype != inputs[place].dtype:
                    raise GradcheckError(f"Expected the gradient's dtype {inputs[place].dtype}, but got {got.dtype}")


class _Undefined(Node):
    """Lets no gradient through."""

    def apply(self, grads: list[Tensor | None]) -> tuple[Tensor | None, ...]:
        return (None,)


def _undefine(tensor: Tensor) -> Tensor:
    """Return the tensor with a history that gives it no gradient."""
    result: Tensor = tensor.detach()
    node = _Undefined()
    node.seq, node.meta, node.next = next_sequence(), result._meta(), (tensor._state.edge,)
    result._autograd = node
    result._dispatch_mask |= autograd_bit(result._dispatch_mask)
    return result


def _check_undefined(func: Callable[..., Any], inputs: tuple[Any, ...]) -> None:
    """Check that backward takes gradients that never arrive: all of them, and each alone."""
    targets = [inputs[place] for place in _places(inputs)]
    count = len([each for each in _outputs(func, inputs) if each.requires_grad])
    for gone in [range(count), *([[number] for number in range(count)] if count > 1 else [])]:
        outputs = [each for each in _outputs(func, inputs) if each.requires_grad]
        outputs = [_undefine(each) if number in gone else each for number, each in enumerate(outputs)]
        problem = ""
        try:
            found = grad(outputs, targets, [FUNCTIONS["zeros_like"](each) for each in outputs], allow_unused=True)
        except RuntimeError as error:
            cause: RuntimeError | None = error
            problem = "Expected backward function to handle undefined output grads."
        else:
            cause = None
            if any(each is not None and bool(each.any()) for each in found):
                problem = (
                    "Expected all input grads to be undefined or zero when all output grads are undefined or zero."
                )
        if problem:
            warnings.warn(
                "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it "
                "may break existing callers of this function. If this is true for you, you can call this function with "
                '"check_undefined_grad=False" to disable the feature',
                stacklevel=4,
            )
            raise GradcheckError(problem) from cause


def _places(inputs: Sequence[Any]) -> list[int]:
    return [place for place, each in enumerate(inputs) if isinstance(each, Tensor) and each.requires_grad]


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Return whether the gradients of gradients of ``func`` agree with finite differences; see `gradcheck`.

    >>> import torchlike
    >>> x = torchlike.rand(3, dtype=torchlike.float64, requires_grad=True)
    >>> gradgradcheck(torchlike.sin, (x,))
    True
    """
    given = _to_tuple(inputs)
    outputs = _outputs(func, given)
    if grad_outputs is None:
        weights = [FUNCTIONS["randn_like"](each.detach()).requires_grad_() for each in outputs]
    else:
        weights = list(_to_tuple(grad_outputs))
    count = len(given)

    def gradient(*arguments: Any) -> tuple[Tensor, ...]:
        points = [
            each.view_as(each) if isinstance(each, Tensor) and each.requires_grad else each
            for each in arguments[:count]
        ]
        results = _outputs(func, points)
        wanted = _differentiable(points)
        pairs = [(each, way) for each, way in zip(results, arguments[count:], strict=True) if each.requires_grad]
        if not wanted or not pairs:
            return ()
        found = grad(
            [each for each, _ in pairs], wanted, [way for _, way in pairs], create_graph=True, allow_unused=True
        )
        return tuple(each for each in found if each is not None)

    def differentiate(*arguments: Any) -> tuple[Tensor, ...]:
        # Finite differences move detached points.
        points = [
            each if not isinstance(each, Tensor) or each.requires_grad or not before else each.requires_grad_()
            for each, before in zip(arguments, wants, strict=True)
        ]
        with enable_grad():
            return gradient(*points)

    wants = [isinstance(each, Tensor) and each.requires_grad for each in (*given, *weights)]
    return gradcheck(
        differentiate,
        (*given, *weights),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_grad_dtypes=check_grad_dtypes,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
    )
