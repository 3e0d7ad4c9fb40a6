"""Clipping of gradients (source: ``torch.nn.utils.clip_grad``)."""

from __future__ import annotations

import types
import warnings
from collections.abc import Iterable
from typing import Any

from ...creation.factories import FACTORIES
from ...functions.operator_functions import FUNCTIONS
from ...history.grad_mode import no_grad
from ...names.spelling import spell
from ...tensors.tensor import Tensor

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]


def _list_parameters(parameters: Any, function: str) -> list[Tensor]:
    if isinstance(parameters, Tensor):
        return [parameters]
    if hasattr(parameters, "parameters"):
        raise TypeError(
            f"parameters should be an iterable of Tensors, but got {type(parameters).__name__}\n"
            "Hint: pass its parameters()"
        )
    is_generator = isinstance(parameters, types.GeneratorType)
    found = list(parameters)
    if is_generator and not found:
        warnings.warn(f"`parameters` is an empty generator, no gradient {function}.", UserWarning, stacklevel=3)
    return found


@no_grad()
def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Return the norm of all tensors' elements together, as if they were one vector.

    Raises ``RuntimeError`` for a norm that is not finite with ``error_if_nonfinite``.

    >>> import torchlike
    >>> get_total_norm([torchlike.tensor([3.]), torchlike.tensor([4.])])
    tensor(5.)
    """
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return FACTORIES["zeros"](())
    device = tensors[0].device
    norms = [FUNCTIONS["norm"](tensor, norm_type) for tensor in tensors]
    total: Tensor = FUNCTIONS["norm"](FUNCTIONS["stack"]([norm.to(device) for norm in norms]), norm_type)
    if error_if_nonfinite and not total.isfinite().item():
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be clipped. "
            "To disable this error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total


@no_grad()
def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale the gradients in place by ``max_norm / total_norm`` where that is below one."""
    grads = [each.grad for each in _list_parameters(parameters, "will be clipped") if each.grad is not None]
    most = float(max_norm)
    if not grads:
        return
    factor: Any = (total_norm + 1e-6).reciprocal().mul(most).clamp(max=1.0)
    for grad in grads:
        grad.mul_(factor.to(grad.device))


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients in place so that their norm together is at most ``max_norm``; return their norm before.

    >>> import torchlike
    >>> weight = torchlike.ones(4, requires_grad=True)
    >>> (3 * weight).sum().backward()
    >>> clip_grad_norm_(weight, 1.0)
    tensor(6.)
    >>> weight.grad
    tensor([0.5000, 0.5000, 0.5000, 0.5000])
    """
    found = _list_parameters(parameters, "clipping will be performed")
    total = get_total_norm(
        [each.grad for each in found if each.grad is not None], norm_type, error_if_nonfinite, foreach
    )
    clip_grads_with_norm_(found, max_norm, total, foreach)
    return total


def clip_grad_norm(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Do as ``clip_grad_norm_``, with a warning."""
    warnings.warn(
        f"{spell()}.nn.utils.clip_grad_norm is now deprecated in favor of {spell()}.nn.utils.clip_grad_norm_.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@no_grad()
def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Clamp the gradients in place to ``[-clip_value, clip_value]``."""
    bound = float(clip_value)
    for each in _list_parameters(parameters, "clipping will be performed"):
        if each.grad is not None:
            each.grad.clamp_(-bound, bound)
