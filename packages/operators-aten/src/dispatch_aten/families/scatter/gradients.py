"""Gradients of scattered writes and reductions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, aten
from dispatch_core import shape as shape_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "as_strided_part",
    "as_strided_scatter_gradient",
    "index_copy_source_gradient",
    "index_fill_value_gradient",
    "pad_to",
    "scatter_reduce_self_gradient",
    "scatter_reduce_source_gradient",
]


def index_copy_source_gradient(grad: Array, dim: int, index: Array, sizes: Sequence[int]) -> Array:
    """Return the rows of the gradient that were copied to."""
    return aten.reshape.default(aten.index_select.default(grad, dim, index), sizes)


def index_fill_value_gradient(grad: Array, dim: int, index: Array) -> Array:
    """Return the sum of the gradient over the rows that were filled, each once."""
    filled = aten._unique2.default(index)[0]
    return aten.sum.default(aten.index_select.default(grad, dim, filled))


def as_strided_part(
    grad: Array, base_offset: int, size: Sequence[int], stride: Sequence[int], storage_offset: int | None
) -> Array:
    """Return the part of a gradient that a strided view of the input would show."""
    start = base_offset if storage_offset is None else storage_offset
    whole = aten.clone.default(grad, memory_format=0)
    return aten.as_strided.default(whole, size, stride, start - base_offset)


def as_strided_scatter_gradient(
    grad: Array,
    zeros: Array,
    base_offset: int,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None,
) -> Array:
    """Return the gradient without the part that was written over."""
    start = base_offset if storage_offset is None else storage_offset
    whole = aten.clone.default(grad, memory_format=0)
    return aten.as_strided_scatter.default(whole, zeros, size, stride, start - base_offset)


def _without_self(grad: Array, dim: int, index: Array, include_self: bool) -> Array:
    return grad if include_self else aten.scatter.value(grad, dim, index, 0)


def _counts(like: Array, dim: int, index: Array, src: Array, include_self: bool) -> Array:
    """Return how many elements each mean was taken of, but 1 where there were none."""
    start = aten.ones_like.default(like) if include_self else aten.zeros_like.default(like)
    counts = aten.scatter_add.default(start, dim, index, aten.ones_like.default(src))
    return aten.masked_fill.Scalar(counts, aten.eq.Scalar(counts, 0), 1)


def _shares(grad: Array, self: Array, dim: int, index: Array, src: Array, result: Array) -> tuple[Array, Array, Array]:
    """Return each result's gradient divided among the elements equal to it, and those of ``self`` and ``src`` that are."""
    dtype = dc.dtype(grad)
    own = aten._to_copy.default(aten.eq.Tensor(self, result), dtype=dtype)
    cut = aten.slice.Tensor
    part = src
    for each, size in enumerate(shape_of(index)):
        part = cut(part, each, 0, size)
    same = aten._to_copy.default(aten.eq.Tensor(part, aten.gather.default(result, dim, index)), dtype=dtype)
    ties = aten.scatter_add.default(own, dim, index, same)
    return aten.div.Tensor(grad, aten.masked_fill.Scalar(ties, aten.eq.Scalar(ties, 0), 1)), own, same


def scatter_reduce_self_gradient(
    grad: Array, self: Array, dim: int, index: Array, src: Array, reduce: str, include_self: bool, result: Array
) -> Array:
    """Return the gradient of the tensor that was scattered into."""
    found = grad
    if reduce == "mean":
        found = aten.div.Tensor(grad, _counts(grad, dim, index, src, include_self))
    elif reduce == "prod":
        safe = aten.masked_fill.Scalar(self, aten.eq.Scalar(self, 0), 1)
        product = aten.scatter_reduce.two(safe, dim, index, src, reduce, include_self=include_self)
        found = aten.div.Tensor(aten.mul.Tensor(grad, product), safe)
    elif reduce in ("amax", "amin"):
        share, own, _ = _shares(grad, self, dim, index, src, result)
        found = aten.mul.Tensor(own, share)
    return _without_self(found, dim, index, include_self)


def scatter_reduce_source_gradient(
    grad: Array, self: Array, dim: int, index: Array, src: Array, reduce: str, include_self: bool, result: Array
) -> Array:
    """Return the gradient of the elements that were scattered; those beyond the index take no part."""
    if reduce == "mean":
        grad = aten.div.Tensor(grad, _counts(grad, dim, index, src, include_self))
    if reduce in ("sum", "mean"):
        found = aten.gather.default(grad, dim, index)
    elif reduce == "prod":
        found = _product_gradient(grad, self, dim, index, src, include_self, result)
    else:
        share, _, same = _shares(grad, self, dim, index, src, result)
        found = aten.mul.Tensor(same, aten.gather.default(share, dim, index))
    return pad_to(found, shape_of(src))


def pad_to(grad: Array, sizes: Sequence[int]) -> Array:
    """Return a gradient with zeros behind it up to the sizes of the source."""
    for dim, size in enumerate(sizes):
        have = shape_of(grad)
        if have[dim] < size:
            zeros = aten.new_zeros.default(grad, (*have[:dim], size - have[dim], *have[dim + 1 :]))
            grad = aten.cat.default([grad, zeros], dim)
    return grad


def _product_gradient(
    grad: Array, self: Array, dim: int, index: Array, src: Array, include_self: bool, result: Array
) -> Array:
    """Return the products of all others: result / element, but where an element is the only zero, or one of two, without it.

    With two zeros the product of the others has the other zero as a factor, which counts for second derivatives.
    """
    for each, size in enumerate(shape_of(index)):
        src = aten.slice.Tensor(src, each, 0, size)
    zero = aten.eq.Scalar(src, 0)
    dtype = dc.dtype(self)

    def gather_sums(elements: Array) -> Array:
        sums = aten.scatter_add.default(aten.zeros_like.default(self), dim, index, elements)
        return aten.gather.default(sums, dim, index)

    counts = gather_sums(aten._to_copy.default(zero, dtype=dtype))
    few = aten.logical_and.default(zero, aten.le.Scalar(counts, 2))
    single = aten.logical_and.default(zero, aten.eq.Scalar(counts, 1))
    without = aten.masked_fill.Scalar(src, few, 1)
    others = aten.scatter_reduce.two(self, dim, index, without, "prod", include_self=include_self)
    zeros = aten.where.ScalarOther(zero, src, 0)
    partner = aten.masked_fill.Scalar(aten.sub.Tensor(gather_sums(zeros), zeros), single, 1)
    at_zero = aten.mul.Tensor(aten.gather.default(aten.mul.Tensor(grad, others), dim, index), partner)
    usual = aten.div.Tensor(
        aten.gather.default(aten.mul.Tensor(grad, result), dim, index), aten.masked_fill.Scalar(src, zero, 1)
    )
    return aten.where.self(few, at_zero, usual)
