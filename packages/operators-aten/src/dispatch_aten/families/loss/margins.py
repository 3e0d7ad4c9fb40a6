"""Losses of distances and margins, through whose parts gradients flow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, arange_like, aten, ndim
from dispatch_aten.dtypes import float16, int64
from dispatch_aten.errors import DtypeError, OperatorError, ShapeError, UnsupportedError
from dispatch_aten.families.loss.composites import reduce

if TYPE_CHECKING:
    from dispatch_aten.promotion import Number


def _cosine_embedding_loss(
    input1: Array, input2: Array, target: Array, margin: float = 0.0, reduction: int = 1
) -> Array:
    operator = "aten::cosine_embedding_loss"
    rank = ndim(target)
    if rank > 1:
        raise ShapeError("0D or 1D target tensor expected, multi-target not supported", operator=operator)
    if not ndim(input1) == ndim(input2) == rank + 1:
        raise ShapeError(
            f"{rank}D target tensor expects {rank + 1}D input tensors, but found inputs with sizes "
            f"{list(dc.shape(input1))} and {list(dc.shape(input2))}.",
            operator=operator,
        )

    def dot(a: Array, b: Array) -> Array:
        return aten.sum.dim_IntList(aten.mul.Tensor(a, b), [rank], False)

    sizes = [aten.add.Scalar(dot(each, each), 1e-12) for each in (input1, input2)]
    cosine = aten.div.Tensor(dot(input1, input2), aten.sqrt.default(aten.mul.Tensor(*sizes)))
    alike = aten.where.ScalarOther(aten.eq.Scalar(target, 1), aten.rsub.Scalar(cosine, 1), 0)
    short = aten.clamp_min.default(aten.sub.Scalar(cosine, margin), 0)
    apart = aten.where.ScalarOther(aten.eq.Scalar(target, -1), short, 0)
    return reduce(aten.add.Tensor(alike, apart), reduction)


def _triplet_margin_loss(
    anchor: Array,
    positive: Array,
    negative: Array,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = 1,
) -> Array:
    ranks = [ndim(each) for each in (anchor, positive, negative)]
    if len(set(ranks)) > 1:
        raise ShapeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {ranks[0]}D, positive {ranks[1]}D, and negative {ranks[2]}D inputs",
            operator="aten::triplet_margin_loss",
        )
    near = aten.pairwise_distance.default(anchor, positive, p, eps)
    far = aten.pairwise_distance.default(anchor, negative, p, eps)
    if swap:
        far = aten.minimum.default(far, aten.pairwise_distance.default(positive, negative, p, eps))
    short = aten.sub.Tensor(aten.add.Scalar(near, margin), far)
    return reduce(aten.clamp_min.default(short, 0), reduction)


def _check_classes(self: Array, operator: str) -> tuple[int, ...]:
    shape = dc.shape(self)
    fits = (1 <= len(shape) <= 2 and shape[-1]) or not shape
    if not fits:
        raise ShapeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(shape)}",
            operator=operator,
            argument="self",
        )
    return shape


def _check_kernel(self: Array, target: Array, kernel: str, operator: str) -> None:
    dtype = dc.dtype(self)
    if not dtype.is_floating_point or dtype == float16:
        raise UnsupportedError(f"\"{kernel}\" not implemented for '{dtype.name}'", operator=operator)
    if dc.dtype(target) != int64:
        raise DtypeError(
            f"expected scalar type Long but found {dc.dtype(target).name}", operator=operator, argument="target"
        )


def _multi_margin_loss(
    self: Array,
    target: Array,
    p: Number = 1,
    margin: Number = 1,
    weight: Array | None = None,
    reduction: int = 1,
) -> Array:
    operator = "aten::multi_margin_loss"
    if p not in (1, 2):
        raise OperatorError("only p == 1 and p == 2 supported", operator=operator, argument="p")
    shape = _check_classes(self, operator)
    batch, classes = (shape[0] if len(shape) == 2 else 1), (shape[-1] if shape else 1)
    wanted = dc.shape(target)
    if len(wanted) > 1 or (wanted[0] if wanted else 1) != batch:
        raise ShapeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch size). "
            f"Expected target size [{batch}], but got {list(wanted)}. Input has shape {list(shape)}.",
            operator=operator,
            argument="target",
        )
    if weight is not None and dc.shape(weight) != (classes,):
        raise ShapeError(
            f"inconsistent weight size, expected {classes} but got {list(dc.shape(weight))}",
            operator=operator,
            argument="weight",
        )
    if batch:
        _check_kernel(self, target, "multi_margin_loss_cpu_kernel", operator)
    rows = aten.reshape.default(self, (batch, classes))
    index = aten.reshape.default(target, (batch, 1))
    short = aten.add.Scalar(aten.sub.Tensor(rows, aten.gather.default(rows, 1, index)), margin)
    # Unlike ``clamp_min``, no gradient flows where nothing is short.
    loss = aten.relu.default(short)
    if p == 2:
        loss = aten.mul.Tensor(loss, loss)
    if weight is not None:
        share = aten.index_select.default(weight, 0, aten.reshape.default(index, (-1,)))
        loss = aten.mul.Tensor(loss, aten.unsqueeze.default(share, 1))
    own = aten.eq.Tensor(arange_like(self, classes), index)
    total = aten.div.Scalar(aten.sum.dim_IntList(aten.masked_fill.Scalar(loss, own, 0), [1], False), classes)
    return reduce(total if len(shape) == 2 else aten.reshape.default(total, wanted if shape else ()), reduction)


def _multilabel_margin_loss(self: Array, target: Array, reduction: int = 1) -> Array:
    operator = "aten::multilabel_margin_loss"
    shape = _check_classes(self, operator)
    if dc.shape(target) != shape:
        raise ShapeError(
            f"inconsistent target size: {list(dc.shape(target))} for input of size: {list(shape)}",
            operator=operator,
            argument="target",
        )
    if 0 not in shape:
        _check_kernel(self, target, "multilabel_margin_loss_forward_out_frame", operator)
    batch, classes = (shape[0] if len(shape) == 2 else 1), (shape[-1] if shape else 1)
    rows = aten.reshape.default(self, (batch, classes))
    labels = aten.reshape.default(target, (batch, classes))
    # The labels end at the first negative one.
    counts = aten.eq.Scalar(aten.cumsum.default(aten.lt.Scalar(labels, 0), 1), 0)
    labels = aten.masked_fill.Scalar(labels, aten.logical_not.default(counts), 0)
    named = aten.eq.Tensor(arange_like(self, classes), aten.unsqueeze.default(labels, 2))
    named = aten.any.dim(aten.logical_and.default(named, aten.unsqueeze.default(counts, 2)), 1, False)
    chosen = aten.unsqueeze.default(aten.gather.default(rows, 1, labels), 2)
    short = aten.relu.default(aten.rsub.Scalar(aten.sub.Tensor(chosen, aten.unsqueeze.default(rows, 1)), 1))
    matters = aten.logical_and.default(
        aten.unsqueeze.default(counts, 2), aten.unsqueeze.default(aten.logical_not.default(named), 1)
    )
    loss = aten.where.ScalarOther(matters, short, 0)
    total = aten.div.Scalar(aten.sum.dim_IntList(loss, [1, 2], False), classes)
    return reduce(total if len(shape) == 2 else aten.reshape.default(total, ()), reduction)
