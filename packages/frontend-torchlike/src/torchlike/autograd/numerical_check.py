"""Gradients compared with finite differences (source: ``torch.autograd.gradcheck``)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..functions import FUNCTIONS
from ..history.grad_mode import enable_grad, no_grad
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
    """Return the derivatives of each output by the elements of an input, a row each; a complex element has two."""
    tensor = inputs[place]
    ways = (1.0, 1j) if tensor.dtype.is_complex else (1.0,)
    values, rows = _read(tensor), []
    with no_grad():
        for way in ways:
            for number in range(values.size):
                ends = []
                for sign in (1, -1):
                    moved = values.copy()
                    moved[number] += sign * eps * way
                    point = tensor.detach().clone()
                    point.copy_(_from(moved, tensor))
                    given = [*inputs[:place], point, *inputs[place + 1 :]]
                    ends.append([_read(each).copy() for each in _outputs(func, given)])
                rows.append([(up - down) / (2 * eps) for up, down in zip(*ends, strict=True)])
    count = len(_outputs(func, inputs))
    return [np.array([row[output] for row in rows]) for output in range(count)]


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


def _compare(kind: str, wanted: list[Any], found: list[Any], place: int, atol: float, rtol: float) -> None:
    for output, (numerical, analytical) in enumerate(zip(wanted, found, strict=True)):
        if numerical.size and not np.allclose(analytical, numerical, rtol, atol, equal_nan=True):
            raise GradcheckError(
                f"Jacobian {kind}mismatch for output {output} with respect to input {place},\n"
                f"numerical:{numerical}\nanalytical:{analytical}\nHint: {_HINT}"
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
    try:
        return _check(
            func, _to_tuple(inputs), eps, atol, rtol, nondet_tol, check_grad_dtypes, check_forward_ad, check_backward_ad
        )
    except GradcheckError:
        if raise_exception:
            raise
        return False


def _check(
    func: Callable[..., Any],
    inputs: tuple[Any, ...],
    eps: float,
    atol: float,
    rtol: float,
    nondet_tol: float,
    check_grad_dtypes: bool,
    check_forward_ad: bool,
    check_backward_ad: bool,
) -> bool:
    _check_inputs(inputs)
    outputs = _outputs(func, inputs)
    if not any(each.requires_grad for each in outputs):
        if any(np.any(part) for place in _places(inputs) for part in _numerical(func, inputs, place, eps)):
            raise GradcheckError("Numerical gradient for function expected to be zero")
        return True
    for place in _places(inputs):
        wanted = _numerical(func, inputs, place, eps)
        if check_forward_ad:
            _compare("computed with forward mode ", wanted, _forward(func, inputs, place), place, atol, rtol)
        if not check_backward_ad:
            continue
        found = _analytical(outputs, inputs[place])
        again = _analytical(outputs, inputs[place])
        if any(np.any(np.abs(one - two) > nondet_tol) for one, two in zip(found, again, strict=True)):
            raise GradcheckError(
                "Backward is not reentrant, i.e., running backward with same input and grad_output multiple "
                "times gives different values, although analytical gradient matches numerical gradient."
            )
        _compare("", wanted, found, place, atol, rtol)
        if check_grad_dtypes:
            for output in outputs:
                (got,) = grad(
                    output, inputs[place], FUNCTIONS["ones_like"](output.detach()), retain_graph=True, allow_unused=True
                )
                if got is not None and got.dtype != inputs[place].dtype:
                    raise GradcheckError(f"Expected the gradient's dtype {inputs[place].dtype}, but got {got.dtype}")
    return True


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
