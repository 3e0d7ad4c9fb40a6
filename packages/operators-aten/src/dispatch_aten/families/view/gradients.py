"""Gradients of views."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, arange_like, aten
from dispatch_aten.dtypes import int64
from dispatch_aten.shapes import storage_extent
from dispatch_aten.shapes.dims import wrap_dim
from dispatch_core import shape as shape_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["as_strided_gradient", "slice_gradient", "split_gradient", "unbind_gradient"]


def slice_gradient(grad: Array, sizes: Sequence[int], dim: int, start: int | None, end: int | None, step: int) -> Array:
    """Put the gradient of a slice into zeros of the input's shape."""
    last = sizes[dim] if end is None else end
    return aten.slice_backward.default(grad, sizes, dim, 0 if start is None else start, last, step)


def _some(grads: Sequence[Array | None]) -> Array:
    return next(grad for grad in grads if grad is not None)


def split_gradient(grads: Sequence[Array | None], sizes: Sequence[int], parts: int | Sequence[int], dim: int) -> Array:
    """Join the gradients of the pieces; a piece without one counts as zeros."""
    where = wrap_dim(dim, len(sizes))
    some = _some(grads)
    if isinstance(parts, int):
        whole = sizes[where]
        lengths = [min(parts, whole - start) for start in range(0, max(whole, 1), parts)] if parts else [whole]
    else:
        lengths = list(parts)
    filled, zeros = [], {}
    for grad, length in zip(grads, lengths, strict=True):
        if grad is None and length not in zeros:
            zeros[length] = aten.new_zeros.default(some, (*sizes[:where], length, *sizes[where + 1 :]))
        filled.append(zeros[length] if grad is None else grad)
    return aten.cat.default(filled, where)


def unbind_gradient(grads: Sequence[Array | None], dim: int) -> Array:
    """Stack the gradients of the parts; a part without one counts as zeros."""
    some, zeros = _some(grads), None
    filled = []
    for grad in grads:
        if grad is None and zeros is None:
            zeros = aten.zeros_like.default(some)
        filled.append(zeros if grad is None else grad)
    return aten.stack.default(filled, dim)


def _places(like: Array, sizes: Sequence[int], strides: Sequence[int], offset: int) -> Array:
    """Return the place in memory of each element of a layout."""
    total = dc.wrap_like(like, aten.full.default((), offset, dtype=int64, device=dc.device(like)))
    for dim, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        line = arange_like(like, size)
        shape = [-1 if each == dim else 1 for each in range(len(sizes))]
        total = aten.add.Tensor(total, aten.reshape.default(aten.mul.Scalar(line, stride), shape))
    return aten.reshape.default(aten.expand.default(total, sizes), (-1,))


def _may_share(sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """Return whether a step leads no further than all elements of the dimensions with shorter ones."""
    reach = 0
    for step, size in sorted((step, size) for step, size in zip(strides, sizes, strict=True) if size > 1):
        if step <= reach:
            return True
        reach += step * (size - 1)
    return False


def as_strided_gradient(
    grad: Array,
    sizes: Sequence[int],
    strides: Sequence[int],
    offset: int,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None,
) -> Array:
    """Add the gradient up in memory, element by element, and read the input's own layout from there.

    Where elements of the input may share memory, each gets an equal part of the gradient of its place.
    """
    if 0 in size or 0 in sizes:
        return aten.new_zeros.default(grad, sizes)
    start = offset if storage_offset is None else storage_offset
    ends = [
        begin + storage_extent(lengths, steps)
        for begin, lengths, steps in ((offset, sizes, strides), (start, size, stride))
    ]
    low = min(offset, start)
    memory = aten.new_zeros.default(grad, (max(ends) - low,))
    flat = aten.reshape.default(grad, (-1,))
    memory = aten.index_add.default(memory, 0, _places(grad, size, stride, start - low), flat)
    own = _places(grad, sizes, strides, offset - low)
    if _may_share(sizes, strides):
        shares = aten.index_add.default(
            aten.zeros_like.default(memory), 0, own, aten.new_ones.default(grad, shape_of(own))
        )
        memory = aten.div.Tensor(memory, aten.clamp_min.default(shares, 1))
    return aten.reshape.default(aten.index_select.default(memory, 0, own), sizes)
