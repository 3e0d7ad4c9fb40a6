"""Losses of classes and probabilities, and the reductions that all losses share."""

from __future__ import annotations

import warnings
from typing import Any

import dispatch_core as dc

from ...functions.operator_functions import FUNCTIONAL, FUNCTIONS
from ...tensors.arguments import check_tensor
from ...tensors.tensor import Tensor

#: torch's numbers for the reductions of a batch's losses.
_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def to_reduction(size_average: bool | None, reduce: bool | None, reduction: Any, stacklevel: int = 4) -> str:
    """Return the name of a reduction; the two older arguments for it come first where they are given."""
    if size_average is None and reduce is None:
        return reduction
    for name, value in (("size_average", size_average), ("reduce", reduce)):
        if isinstance(value, Tensor):
            raise TypeError(
                f"{name} must be bool, not Tensor\n"
                "Hint: a loss is made first, and then called with the tensors: MSELoss()(input, target)"
            )
    found = "none" if reduce is False else "sum" if size_average is False else "mean"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{found}' instead.",
        UserWarning,
        stacklevel=stacklevel,
    )
    return found


def read_reduction(size_average: bool | None, reduce: bool | None, reduction: str) -> int:
    """Return torch's number for a reduction that is given in either way.

    Raises ``TypeError`` for anything but a string, ``ValueError`` for another one than ``"none"``, ``"mean"`` or ``"sum"``.
    """
    name = to_reduction(size_average, reduce, reduction, 5)
    if not isinstance(name, str):
        raise TypeError(f"reduction must be str, not {type(name).__name__}")
    if name not in _REDUCTIONS:
        raise ValueError(f"{name} is not a valid value for reduction")
    return _REDUCTIONS[name]


def to_number(name: str) -> int:
    """Return torch's number for a reduction; see `read_reduction`."""
    return read_reduction(None, None, name)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Return the negative log probability of the target classes, from scores of shape ``(N, C, ...)``.

    >>> import torchlike
    >>> cross_entropy(torchlike.zeros(1, 4), torchlike.tensor([2]))
    tensor(1.3863)
    """
    number = read_reduction(size_average, reduce, reduction)
    return dc.ops.aten.cross_entropy_loss.default(input, target, weight, number, ignore_index, label_smoothing)


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the negative log probability of the target classes, from log probabilities."""
    return dc.ops.aten.nll_loss_nd.default(
        input, target, weight, read_reduction(size_average, reduce, reduction), ignore_index
    )


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Tensor:
    """Return ``cross_entropy(linear(input, linear_weight, linear_bias), target)``; ``options`` are hints without an effect.

    Raises ``RuntimeError`` for shapes that do not fit.
    """
    check_tensor(input, "linear_cross_entropy")
    check_tensor(linear_weight, "linear_cross_entropy", "linear_weight")
    check_tensor(target, "linear_cross_entropy", "target")
    if linear_bias is not None:
        check_tensor(linear_bias, "linear_cross_entropy", "linear_bias")
    batch, classes = input.shape[:-1], linear_weight.shape[0]
    if not 1 <= input.ndim <= 2:
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.ndim}")
    if linear_weight.ndim < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {linear_weight.ndim}")
    if input.shape[-1] != linear_weight.shape[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), "
            f"got {input.shape[-1]} and {linear_weight.shape[-1]}, respectively"
        )
    more = linear_weight.shape[1:-1]
    if linear_bias is not None and tuple(linear_bias.shape) != (classes, *more):
        raise RuntimeError(f"expected linear_bias shape {(classes, *more)}, got {tuple(linear_bias.shape)}")
    if more and not batch:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires batched input, "
            f"(N, {input.shape[-1]}), got unbatched input with shape {tuple(input.shape)}"
        )
    shape = (*batch, classes, *more)
    if tuple(target.shape) == shape and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    flat_bias = linear_bias.reshape(-1) if linear_bias is not None else None
    scores = FUNCTIONAL["linear"](input, linear_weight.reshape(-1, linear_weight.shape[-1]), flat_bias)
    return cross_entropy(
        scores.reshape(shape),
        target,
        weight,
        ignore_index=-100 if ignore_index is None else ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the binary cross entropy between probabilities and targets from zero to one."""
    number = read_reduction(size_average, reduce, reduction)
    check_tensor(input, "binary_cross_entropy")
    check_tensor(target, "binary_cross_entropy", "target")
    if target.shape != input.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. "
            "Please ensure they have the same size."
        )
    if weight is not None:
        weight = FUNCTIONS["broadcast_tensors"](target, weight)[1]
    return dc.ops.aten.binary_cross_entropy(input, target, weight, number)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Return the binary cross entropy between scores and targets from zero to one."""
    number = read_reduction(size_average, reduce, reduction)
    check_tensor(input, "binary_cross_entropy_with_logits")
    check_tensor(target, "binary_cross_entropy_with_logits", "target")
    if target.shape != input.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    return dc.ops.aten.binary_cross_entropy_with_logits(input, target, weight, pos_weight, number)


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """Return the Kullback-Leibler divergence of log probabilities from probabilities, which ``log_target`` has as logs."""
    check_tensor(input, "kl_div")
    chosen = to_reduction(size_average, reduce, reduction)
    if reduction == "mean" and size_average is None and reduce is None:
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
            "'mean' will be changed to behave the same as 'batchmean' in the next major release.",
            stacklevel=2,
        )
    number = to_number("sum" if chosen == "batchmean" else chosen)
    loss = dc.ops.aten.kl_div(input, target, number, log_target=log_target)
    return loss / input.shape[0] if chosen == "batchmean" and input.ndim else loss


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the negative log likelihood of counts under Poisson distributions."""
    number = read_reduction(size_average, reduce, reduction)
    return dc.ops.aten.poisson_nll_loss(input, target, log_input, full, eps, number)
