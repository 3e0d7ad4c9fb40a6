"""Losses of numbers: differences from a target."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

import dispatch_core as dc

from ...functions.operator_functions import FUNCTIONS
from ...history.grad_mode import no_grad
from ...tensors.arguments import check_tensor
from ...tensors.tensor import Tensor
from .losses import read_reduction, to_number


def _broadcast(name: str, input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    check_tensor(input, name)
    check_tensor(target, name, "target")
    if target.shape == input.shape:
        return input, target
    warnings.warn(
        f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will likely "
        f"lead to incorrect results due to broadcasting. Please ensure they have the same size.",
        UserWarning,
        stacklevel=3,
    )
    first, second = FUNCTIONS["broadcast_tensors"](input, target)
    return first, second


def _weigh(
    loss: Callable[[Tensor, Tensor, int], Tensor],
    input: Tensor,
    tensors: tuple[Tensor, Tensor],
    weight: Tensor | None,
    reduction: int,
    by_weight: bool,
) -> Tensor:
    """Reduce losses of elements with weights; their mean is one ``by_weight``, or by the number of elements."""
    if weight is None:
        return loss(*tensors, reduction)
    check_tensor(weight, "loss", "weight")
    if weight.shape != input.shape:
        raise ValueError("Weights and input must have the same size.")
    weighed = loss(*tensors, 0) * weight
    if reduction == 0:
        return weighed
    if reduction == 2:
        return weighed.sum()
    return weighed.sum() / weight.sum() if by_weight else weighed.mean()


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Return the squared differences, or their mean or sum."""
    tensors = _broadcast("mse_loss", input, target)
    number = read_reduction(size_average, reduce, reduction)
    return _weigh(dc.ops.aten.mse_loss, input, tensors, weight, number, True)


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Return the absolute differences, or their mean or sum."""
    tensors = _broadcast("l1_loss", input, target)
    number = read_reduction(size_average, reduce, reduction)
    return _weigh(dc.ops.aten.l1_loss, input, tensors, weight, number, True)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Return the absolute differences, squared and scaled below ``beta``."""
    tensors = _broadcast("smooth_l1_loss", input, target)
    number = read_reduction(size_average, reduce, reduction)
    if beta == 0.0:
        return dc.ops.aten.l1_loss(*tensors, number)
    return dc.ops.aten.smooth_l1_loss(*tensors, number, beta)


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """Return half of the squared differences below ``delta``, a line beyond it."""
    tensors = _broadcast("huber_loss", input, target)

    def loss(input: Tensor, target: Tensor, number: int) -> Tensor:
        return dc.ops.aten.huber_loss(input, target, number, delta)

    return _weigh(loss, input, tensors, weight, to_number(reduction), False)


def _fit_variance(input: Tensor, var: Tensor) -> Tensor:
    """Return a variance that broadcasts with the input; raises ``ValueError`` for one that does not."""
    if var.shape == input.shape:
        return var
    if input.shape[:-1] == var.shape:
        return var.unsqueeze(-1)
    pairs = zip(input.shape, var.shape, strict=False)
    if input.ndim == var.ndim and sum(own for mine, own in pairs if mine != own) == 1:
        return var
    raise ValueError("var is of incorrect size")


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Return the negative log likelihood of ``target`` under normal distributions of mean ``input`` and variance ``var``."""
    check_tensor(input, "gaussian_nll_loss")
    if isinstance(var, float):
        if var < 0.0:
            raise ValueError("var has negative entry/entries")
        spread = FUNCTIONS["ones_like"](input) * var
    else:
        check_tensor(var, "gaussian_nll_loss", "var")
        if not var.is_meta and var.lt(0).any():
            raise ValueError("var has negative entry/entries")
        spread = var
    spread = _fit_variance(input, spread)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    spread = spread.clone()
    with no_grad():
        spread.clamp_(min=eps)
    loss = (spread.log() + (input - target).square() / spread) * 0.5
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return loss if reduction == "none" else loss.mean() if reduction == "mean" else loss.sum()
