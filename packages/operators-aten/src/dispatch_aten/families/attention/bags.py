"""Bags of embeddings: the rows that each bag names, added up, averaged, or the greatest of each column."""

from __future__ import annotations

from typing import Final

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, arange_like, aten, cast, meta_of
from dispatch_aten.dtypes import float32, int32, int64
from dispatch_aten.errors import DtypeError, OperatorError, ShapeError
from dispatch_aten.shapes import RULES

_SUM, _MEAN, _MAX = 0, 1, 2
_OPERATOR: Final = "aten::embedding_bag"


def _check(weight: Array, indices: Array, offsets: Array, mode: int, per_sample_weights: Array | None) -> None:
    for place, (name, found) in enumerate((("indices", indices), ("offsets", offsets)), 1):
        if dc.dtype(found) not in (int32, int64):
            raise DtypeError(
                f"Expected tensor for argument #{place} '{name}' to have one of the following scalar types: Long, Int; but "
                f"got torch.{dc.dtype(found).name}Tensor instead (while checking arguments for embedding_bag)",
                operator=_OPERATOR,
                argument=name,
            )
    if not dc.dtype(weight).is_floating_point:
        raise DtypeError(
            "Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, BFloat16, Float, "
            f"Double; but got torch.{dc.dtype(weight).name}Tensor instead (while checking arguments for embedding_bag)",
            operator=_OPERATOR,
            argument="weight",
        )
    if per_sample_weights is None:
        return
    if mode != _SUM:
        raise OperatorError(
            "embedding_bag: per_sample_weights only supported with mode='sum'",
            operator=_OPERATOR,
            argument="per_sample_weights",
        )
    if dc.shape(per_sample_weights) != dc.shape(indices):
        raise ShapeError(
            "expected per_sample_weights to be 1D with the same shape as indices",
            operator=_OPERATOR,
            argument="per_sample_weights",
        )


def _find_bags(indices: Array, offsets: Array) -> Array:
    """Return for each index the number of its bag: how many bags begin at it or before, less one."""
    count = dc.shape(indices)[0]
    marks = aten.new_zeros.default(indices, (count + 1,), dtype=int64)
    ones = aten.new_ones.default(indices, dc.shape(offsets), dtype=int64)
    begun = aten.cumsum.default(aten.index_add.default(marks, 0, cast(offsets, int64), ones), 0)
    return aten.sub.Scalar(aten.slice.Tensor(begun, 0, 0, count), 1)


def _greatest(rows: Array, bags: Array, kept: Array, shape: tuple[int, int]) -> tuple[Array, Array]:
    """Return the greatest element of each bag's columns, zero for an empty bag, and the place of its row."""
    count = dc.shape(rows)[0]
    if not count:
        return aten.new_zeros.default(rows, shape), aten.new_zeros.default(bags, shape)
    values = aten.detach.default(rows)
    wide = aten.expand.default(aten.unsqueeze.default(bags, 1), dc.shape(rows))
    lost = aten.unsqueeze.default(aten.logical_not.default(kept), 1)
    values = aten.masked_fill.Scalar(values, lost, float("-inf"))
    lowest = aten.new_full.default(values, shape, float("-inf"))
    best = aten.scatter_reduce.two(lowest, 0, wide, values, "amax")
    matches = aten.eq.Tensor(values, aten.gather.default(best, 0, wide))
    is_best = aten.logical_and.default(matches, aten.unsqueeze.default(kept, 1))
    places = aten.unsqueeze.default(arange_like(bags, count), 1)
    places = aten.masked_fill.Scalar(
        aten.expand.default(places, dc.shape(rows)), aten.logical_not.default(is_best), count
    )
    first = aten.scatter_reduce.two(aten.new_full.default(bags, shape, count), 0, wide, places, "amin")
    empty = aten.eq.Scalar(first, count)
    first = aten.masked_fill.Scalar(first, empty, 0)
    return aten.masked_fill.Scalar(aten.gather.default(rows, 0, first), empty, 0), first


def embedding_bag(
    weight: Array,
    indices: Array,
    offsets: Array,
    scale_grad_by_freq: bool = False,
    mode: int = _SUM,
    sparse: bool = False,
    per_sample_weights: Array | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[Array, Array, Array, Array]:
    """Return the bags, the bag of each index, the sizes of the bags, and the places of the greatest elements."""
    _check(weight, indices, offsets, mode, per_sample_weights)
    bag_count = dc.shape(offsets)[0] - include_last_offset
    if include_last_offset:
        if bag_count < 0:
            raise OperatorError(
                "include_last_offset: number of offset should be at least 1", operator=_OPERATOR, argument="offsets"
            )
        offsets = aten.slice.Tensor(offsets, 0, 0, bag_count)
    bags = _find_bags(indices, offsets)
    padding = -1 if padding_idx is None else padding_idx % dc.shape(weight)[0]
    rows = aten.embedding.default(weight, indices, padding, scale_grad_by_freq, sparse)
    kept = aten.ne.Scalar(indices, padding)
    sizes = aten.new_zeros.default(bags, (bag_count,))
    sizes = aten.index_add.default(sizes, 0, bags, cast(kept, int64))
    shape = (bag_count, dc.shape(weight)[1])
    if mode == _MAX:
        output, first = _greatest(rows, bags, kept, shape)
        return output, bags, sizes, first
    if padding >= 0:
        rows = aten.masked_fill.Scalar(rows, aten.unsqueeze.default(aten.logical_not.default(kept), 1), 0)
    dtype = dc.dtype(rows)
    if dtype.itemsize < float32.itemsize:
        rows = cast(rows, float32)
    if per_sample_weights is not None:
        rows = aten.mul.Tensor(rows, aten.unsqueeze.default(cast(per_sample_weights, dc.dtype(rows)), 1))
    output = aten.index_add.default(aten.new_zeros.default(rows, shape), 0, bags, rows)
    if mode == _MEAN:
        counts = cast(aten.clamp_min.default(sizes, 1), dc.dtype(output))
        output = aten.div.Tensor(output, aten.unsqueeze.default(counts, 1))
    return cast(output, dtype), bags, sizes, aten.clone.default(sizes)


def embedding_renorm(self: Array, indices: Array, max_norm: float, norm_type: float) -> Array:
    """Return the table with the rows that ``indices`` names at most as long as ``max_norm``."""
    RULES["embedding_renorm"](meta_of(self), meta_of(indices), max_norm, norm_type)
    flat = aten.reshape.default(indices, (-1,))
    rows = aten.index_select.default(self, 0, flat)
    norms = aten.norm.ScalarOpt_dim(rows, norm_type, [1], True)
    factors = aten.reciprocal.default(aten.add.Scalar(norms, 1e-7))
    shorter = aten.mul.Tensor(rows, aten.mul.Scalar(factors, max_norm))
    rows = aten.where.self(aten.gt.Scalar(norms, max_norm), shorter, rows)
    return aten.index_put.default(self, [flat], rows, False)
