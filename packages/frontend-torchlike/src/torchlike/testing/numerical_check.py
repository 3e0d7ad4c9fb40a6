"""Gradients compared with finite differences (source: ``torch.autograd.gradcheck``)."""

from __future__ import annotations

__name__ = "torchlike.autograd.numerical_check"  # see Note [Public paths]

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dispatch_core.tracebacks import api_boundary, warn_caller

from ..autograd.gradients import grad
from ..functions.operator_functions import FUNCTIONS
from ..history.device_keys import autograd_bit
from ..history.grad_mode import enable_grad
from ..history.node import Node, next_sequence
from ..tensors.tensor import Tensor
from .numerical_jacobians import (
    Directions,
    analytical_jacobian,
    differentiable,
    forward_jacobian,
    make_strided,
    numerical_jacobian,
    outputs_of,
    to_tuple,
)

_HINT = "check the derivative formula, or pass float64 inputs"


class GradcheckError(RuntimeError):
    """A gradient differs from finite differences (source: ``torch.autograd.gradcheck.GradcheckError``)."""


def _compare(
    kind: str,
    wanted: list[Any],
    found: list[Any],
    outputs: Sequence[Tensor],
    place: int,
    atols: Sequence[float],
    rtol: float,
) -> None:
    """Compare Jacobians; of complex outputs the imaginary parts first."""
    pairs = list(zip(wanted, found, outputs, atols, strict=True))
    for part in ("imag", "real") if any(each.dtype.is_complex for each in outputs) else ("",):
        where = (
            f"While considering the {part}{'inary' * (part == 'imag')} part of complex outputs only, " if part else ""
        )
        for output, (numerical, analytical, tensor, atol) in enumerate(pairs):
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
            warn_caller(
                f"Input #{number} requires gradient and is not a double precision floating point or complex. "
                "This check will likely fail if all the inputs are not of double precision floating point or complex. ",
            )
    return True


@api_boundary
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

    Every element of every input that requires grad is moved; with ``fast_mode`` all at once, along one vector. Raises
    `GradcheckError` with both Jacobians where they differ, or returns False without ``raise_exception``. Sparse tensors are
    moved at all places, or with ``masked`` at those that they have.

    >>> import torchlike
    >>> x = torchlike.rand(3, dtype=torchlike.float64, requires_grad=True)
    >>> gradcheck(torchlike.sin, (x,))
    True
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    func, given = make_strided(func, to_tuple(inputs), bool(masked))
    ways = Directions(fast_mode)
    try:
        _check_inputs(given)
        outputs = outputs_of(func, given)
        if not any(each.requires_grad for each in outputs):
            if any(
                np.any(part) for place in _places(given) for part in numerical_jacobian(func, given, place, eps, ways)
            ):
                raise GradcheckError("Numerical gradient for function expected to be zero")
            return True
        wanted = {place: numerical_jacobian(func, given, place, eps, ways) for place in _places(given)}
        atols = {place: [atol * ways.scale(given[place], each) for each in outputs] for place in wanted}
        if check_backward_ad:
            _check_backward(given, outputs, wanted, ways, atols, rtol, nondet_tol)
            if check_grad_dtypes:
                _check_dtypes(given, outputs)
        if check_forward_ad:
            for place, each in wanted.items():
                found = forward_jacobian(func, given, place, ways)
                _compare("computed with forward mode ", each, found, outputs, place, atols[place], rtol)
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
    ways: Directions,
    atols: dict[int, list[float]],
    rtol: float,
    nondet_tol: float,
) -> None:
    targets = [inputs[place] for place in wanted]
    both = [analytical_jacobian(outputs, targets, ways) for _ in range(2)]
    for (place, numerical), found, again in zip(wanted.items(), *both, strict=True):
        if any(np.any(np.abs(one - two) > nondet_tol) for one, two in zip(found, again, strict=True)):
            raise GradcheckError(
                "Backward is not reentrant, i.e., running backward with same input and grad_output multiple "
                "times gives different values, although analytical gradient matches numerical gradient."
            )
        _compare("", numerical, found, outputs, place, atols[place], rtol)


def _check_dtypes(inputs: tuple[Any, ...], outputs: list[Tensor]) -> None:
    targets = [inputs[place] for place in _places(inputs)]
    for output in outputs:
        weight = FUNCTIONS["ones_like"](output.detach())
        for target, got in zip(
            targets, grad(output, targets, weight, retain_graph=True, allow_unused=True), strict=True
        ):
            if got is not None and got.dtype != target.dtype:
                raise GradcheckError(f"Expected the gradient's dtype {target.dtype}, but got {got.dtype}")


class _Undefined(Node):
    """Lets no gradient through."""

    def apply(self, grads: list[Tensor | None]) -> tuple[Tensor | None, ...]:
        return (None,)


def _undefine(tensor: Tensor) -> Tensor:
    """Return the tensor with a history that gives it no gradient."""
    result: Tensor = tensor.detach()
    node = _Undefined()
    node.seq, node.meta, node.next = next_sequence(), result._shape_and_dtype(), (tensor._state.edge,)
    result._autograd = node
    result._dispatch_mask |= autograd_bit(result._dispatch_mask)
    return result


def _check_undefined(func: Callable[..., Any], inputs: tuple[Any, ...]) -> None:
    """Check that backward takes gradients that never arrive: all of them, and each alone."""
    targets = [inputs[place] for place in _places(inputs)]
    count = len([each for each in outputs_of(func, inputs) if each.requires_grad])
    for gone in [range(count), *([[number] for number in range(count)] if count > 1 else [])]:
        outputs = [each for each in outputs_of(func, inputs) if each.requires_grad]
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
            warn_caller(
                "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it "
                "may break existing callers of this function. If this is true for you, you can call this function with "
                '"check_undefined_grad=False" to disable the feature',
            )
            raise GradcheckError(problem) from cause


def _places(inputs: Sequence[Any]) -> list[int]:
    return [place for place, each in enumerate(inputs) if isinstance(each, Tensor) and each.requires_grad]


@api_boundary
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
    func, given = make_strided(func, to_tuple(inputs), bool(masked))
    outputs = outputs_of(func, given)
    if grad_outputs is None:
        weights = [FUNCTIONS["randn_like"](each.detach()).requires_grad_() for each in outputs]
    else:
        weights = list(to_tuple(grad_outputs))
    count = len(given)

    def gradient(*arguments: Any) -> tuple[Tensor, ...]:
        points = [
            each.view_as(each) if isinstance(each, Tensor) and each.requires_grad else each
            for each in arguments[:count]
        ]
        results = outputs_of(func, points)
        wanted = differentiable(points)
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
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        fast_mode=fast_mode,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
    )
