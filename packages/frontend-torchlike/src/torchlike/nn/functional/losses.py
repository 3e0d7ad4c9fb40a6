"""Losses."""

from __future__ import annotations

import warnings

import dispatch_core as dc

from ...arguments import check_tensor
from ...functions import FUNCTIONS
from ...tensors import Tensor

#: torch's numbers for the reductions of a batch's losses.
_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def _to_number(name: str) -> int:
    if not isinstance(name, str):
        raise TypeError(f"reduction must be str, not {type(name).__name__}")
    if name not in _REDUCTIONS:
        raise ValueError(f"{name} is not a valid value for reduction")
    return _REDUCTIONS[name]


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    *,
    label_smoothing: float = 0.0,
) -> Tensor:
    """Return the negative log probability of the target classes, from scores of shape ``(N, C, ...)``.

    >>> import torchlike
    >>> cross_entropy(torchlike.zeros(1, 4), torchlike.tensor([2]))
    tensor(1.3863)
    """
    return dc.ops.aten.cross_entropy_loss(input, target, weight, _to_number(reduction), ignore_index, label_smoothing)


def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean"
) -> Tensor:
    """Return the negative log probability of the target classes, from log probabilities."""
    return dc.ops.aten.nll_loss_nd(input, target, weight, _to_number(reduction), ignore_index)


def _warn_of_broadcast(name: str, input: Tensor, target: Tensor) -> None:
    check_tensor(input, name)
    check_tensor(target, name, "target")
    if target.shape != input.shape:
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will likely "
            f"lead to incorrect results due to broadcasting. Please ensure they have the same size. ({name})",
            UserWarning,
            stacklevel=3,
        )


def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Return the squared differences, or their mean or sum."""
    _warn_of_broadcast("mse_loss", input, target)
    return dc.ops.aten.mse_loss(*FUNCTIONS["broadcast_tensors"]([input, target]), _to_number(reduction))


def l1_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Return the absolute differences, or their mean or sum."""
    _warn_of_broadcast("l1_loss", input, target)
    return dc.ops.aten.l1_loss(*FUNCTIONS["broadcast_tensors"]([input, target]), _to_number(reduction))


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Return the binary cross entropy between scores and targets from zero to one."""
    check_tensor(input, "binary_cross_entropy_with_logits")
    check_tensor(target, "binary_cross_entropy_with_logits", "target")
    if target.shape != input.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    return dc.ops.aten.binary_cross_entropy_with_logits(input, target, weight, pos_weight, _to_number(reduction))
