"""Losses of margins between classes, pairs and triplets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dispatch_core as dc

from ...functions.operator_functions import FUNCTIONAL, FUNCTIONS
from ...tensors.arguments import check_tensor
from ...tensors.tensor import Tensor
from .losses import read_reduction, to_reduction


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return distances where the target is 1, and the rest to ``margin`` where it is -1."""
    return dc.ops.aten.hinge_embedding_loss(input, target, margin, read_reduction(size_average, reduce, reduction))


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return by how much the cosine of two vectors is below 1, or above ``margin`` where the target is -1."""
    number = read_reduction(size_average, reduce, reduction)
    return dc.ops.aten.cosine_embedding_loss(input1, input2, target, margin, number)


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return by how much the first input fails to exceed the second one, or where the target is -1 the reverse."""
    check_tensor(input1, "margin_ranking_loss", "input1")
    check_tensor(input2, "margin_ranking_loss", "input2")
    check_tensor(target, "margin_ranking_loss", "target")
    number = read_reduction(size_average, reduce, reduction)
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape} "
        )
    return dc.ops.aten.margin_ranking_loss(input1, input2, target, margin, number)


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return ``log(1 + exp(-target * input))`` for targets 1 and -1."""
    return dc.ops.aten.soft_margin_loss(input, target, read_reduction(size_average, reduce, reduction))


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return by how much other classes' scores come within ``margin`` of the target's."""
    if weight is not None:
        check_tensor(weight, "multi_margin_loss", "weight")
    number = read_reduction(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.ndim != 1:
        raise ValueError("weight must be one-dimensional")
    return dc.ops.aten.multi_margin_loss(input, target, p, margin, weight, number)


def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return by how much other classes' scores come within 1 of those that the target lists before its first -1."""
    return dc.ops.aten.multilabel_margin_loss(input, target, read_reduction(size_average, reduce, reduction))


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the mean over classes of the binary cross entropy of scores."""
    check_tensor(input, "multilabel_soft_margin_loss")
    chosen = to_reduction(size_average, reduce, reduction)
    log_sigmoid = FUNCTIONAL["log_sigmoid"]
    loss: Tensor = -(target * log_sigmoid(input) + (-target + 1) * log_sigmoid(-input))
    if weight is not None:
        loss = loss * weight
    loss = loss.sum(-1) / input.shape[-1]
    if chosen not in ("none", "mean", "sum"):
        raise ValueError(f"{chosen} is not valid")
    return loss if chosen == "none" else loss.mean() if chosen == "mean" else loss.sum()


def _check_margin(margin: float) -> None:
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return by how much the anchor is not nearer to ``positive`` than to ``negative`` by ``margin``."""
    number = read_reduction(size_average, reduce, reduction)
    _check_margin(margin)
    return dc.ops.aten.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, number)


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """Return ``triplet_margin_loss`` by any distance of two tensors."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    _check_margin(margin)
    for name, each in (("anchor", anchor), ("positive", positive), ("negative", negative)):
        check_tensor(each, "triplet_margin_with_distance_loss", name)
    ranks = [each.ndim for each in (anchor, positive, negative)]
    if len(set(ranks)) > 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {ranks[0]}D, positive {ranks[1]}D, and negative {ranks[2]}D inputs"
        )
    measure: Any = FUNCTIONS["pairwise_distance"] if distance_function is None else distance_function
    near, far = measure(anchor, positive), measure(anchor, negative)
    if swap:
        far = FUNCTIONS["minimum"](far, measure(positive, negative))
    loss: Tensor = FUNCTIONS["clamp_min"](margin + near - far, 0)
    return loss if reduction == "none" else loss.mean() if reduction == "mean" else loss.sum()
