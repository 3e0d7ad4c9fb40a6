"""Gradients of indexing, lists and repetitions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dispatch_aten.decompositions._shared import Array, aten
from dispatch_aten.shapes.dims import wrap_dim
from dispatch_core import shape as shape_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "cat_gradient",
    "embedding_double_backward",
    "index_add_source_gradient",
    "masked_select_gradient",
    "masked_source_gradient",
    "repeat_gradient",
    "take_gradient",
]


def index_add_source_gradient(grad: Array, dim: int, index: Array, sizes: Sequence[int]) -> Array:
    """Return the rows of the gradient that were added to."""
    if not sizes:
        return aten.reshape.default(grad, ()) if not shape_of(grad) else aten.select.int(grad, dim, 0)
    return aten.index_select.default(grad, dim, index)


def take_gradient(grad: Array, sizes: Sequence[int], index: Array) -> Array:
    """Add the gradient to the places it was taken from, in the flattened input."""
    flat = aten.new_zeros.default(grad, (math.prod(sizes),))
    places = aten.reshape.default(index, (-1,))
    places = aten.where.self(aten.lt.Scalar(places, 0), aten.add.Scalar(places, math.prod(sizes)), places)
    return aten.reshape.default(aten.index_add.default(flat, 0, places, aten.reshape.default(grad, (-1,))), sizes)


def masked_select_gradient(grad: Array, sizes: Sequence[int], mask: Array) -> Array:
    """Put the gradient back where the mask selected from."""
    zeros, kept = aten.broadcast_tensors.default([aten.new_zeros.default(grad, sizes), mask])
    # Flattened, so that 0-d inputs go the same way.
    flat = aten.masked_scatter.default(aten.reshape.default(zeros, (-1,)), aten.reshape.default(kept, (-1,)), grad)
    return aten.reshape.default(flat, shape_of(zeros))


def masked_source_gradient(grad: Array, mask: Array, sizes: Sequence[int]) -> Array:
    """Return the gradient at the masked places to the first elements of the source, and zeros to those not used."""
    # Each masked place goes to its number among them, the others to one place more: no shape depends on values.
    count = math.prod(sizes)
    kept = aten.reshape.default(aten.expand.default(mask, shape_of(grad)), (-1,))
    numbers = aten.sub.Scalar(aten.cumsum.default(kept, 0), 1)
    flat = aten.new_zeros.default(grad, (count + 1,))
    places = aten.where.ScalarOther(kept, numbers, count)
    found = aten.index_add.default(flat, 0, places, aten.reshape.default(grad, (-1,)))
    return aten.reshape.default(aten.slice.Tensor(found, 0, 0, count), sizes)


def embedding_double_backward(grad: Array, indices: Array, padding_idx: int, scale_grad_by_freq: bool) -> Array:
    """Return the gradient of embedding's gradient: the rows that were looked up, none for padding.

    ``scale_grad_by_freq`` has no part in the rows, as in torch, but in their own gradient: that is embedding's again.
    """
    rows = aten.embedding.default(grad, indices, padding_idx, scale_grad_by_freq)
    if padding_idx >= 0:
        rows = aten.masked_fill.Scalar(rows, aten.unsqueeze.default(aten.eq.Scalar(indices, padding_idx), -1), 0)
    return rows


def cat_gradient(grad: Array, sizes: Sequence[Sequence[int]], dim: int) -> list[Array]:
    """Cut the gradient at the seams; an empty one-dimensional tensor took no part."""
    where = wrap_dim(dim, len(shape_of(grad)))
    start, pieces = 0, []
    for each in sizes:
        if tuple(each) == (0,):
            pieces.append(aten.new_zeros.default(grad, each))
            continue
        pieces.append(aten.slice.Tensor(grad, where, start, start + each[where]))
        start += each[where]
    return pieces


def repeat_gradient(grad: Array, sizes: Sequence[int], repeats: Sequence[int]) -> Array:
    """Add up the gradients of all repetitions."""
    if 0 in repeats:
        return aten.new_zeros.default(grad, sizes)
    padded = (1,) * (len(repeats) - len(sizes)) + tuple(sizes)
    paired = [length for times, size in zip(repeats, padded, strict=True) for length in (times, size)]
    if not paired:
        return grad
    folded = aten.sum.dim_IntList(aten.reshape.default(grad, paired), list(range(0, len(paired), 2)), False)
    return aten.reshape.default(folded, sizes)
