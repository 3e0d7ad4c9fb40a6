"""Histograms: each element's bin is found among the edges, and the bins are added up."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, aten, cast, meta_of, ndim, numel
from dispatch_aten.dtypes import bool_, int64
from dispatch_aten.errors import DtypeError, OperatorError, ShapeError
from dispatch_aten.families.ordering.shapes import check_weight
from dispatch_aten.shapes import RULES

if TYPE_CHECKING:
    from collections.abc import Sequence


def _find_bounds(self: Array, low: float, high: float) -> tuple[float, float]:
    """Return the bounds of a histogram: the least and greatest element where none are given, and never equal ones."""
    if low == high and numel(self):
        low, high = (float(aten.item.default(find(self, [], False))) for find in (aten.amin.default, aten.amax.default))
    if not (math.isfinite(low) and math.isfinite(high)):
        raise OperatorError(f"torch.histc: range of [{low:g}, {high:g}] is not finite", argument="min")
    return (low - 1, high + 1) if low == high else (float(low), float(high))


def _histc(self: Array, bins: int = 100, min: float = 0, max: float = 0) -> Array:  # torch's names
    RULES["histc"](meta_of(self), bins, min, max)
    low, high = _find_bounds(self, min, max)
    flat = aten.reshape.default(self, (numel(self),))
    inside = aten.logical_and.default(aten.ge.Scalar(flat, low), aten.le.Scalar(flat, high))
    scaled = aten.div.Scalar(aten.mul.Scalar(aten.sub.Scalar(flat, low), bins), high - low)
    places = cast(aten.masked_fill.Scalar(scaled, aten.logical_not.default(inside), bins + 1), int64)
    places = aten.where.self(inside, aten.clamp_max.default(places, bins - 1), places)
    counts = aten.index_add.default(
        aten.new_zeros.default(self, (bins + 2,), dtype=int64), 0, places, aten.ones_like.default(places)
    )
    return cast(aten.clone.default(aten.slice.Tensor(counts, 0, 0, bins)), dc.dtype(self))


def _count(rows: Array, edges: Sequence[Array], weight: Array | None, density: bool) -> Array:
    """Return the histogram of the rows of a matrix between edges, one vector for each column."""
    sizes = [numel(edge) - 1 for edge in edges]
    places: Any = aten.new_zeros.default(rows, (dc.shape(rows)[0],), dtype=int64)
    inside: Any = aten.full_like.default(places, bool(edges), dtype=bool_)
    for column, edge in enumerate(edges):
        values = aten.contiguous.default(aten.select.int(rows, 1, column))
        last = aten.select.int(edge, 0, -1)
        found = aten.sub.Scalar(aten.searchsorted.Tensor(edge, values, right=True), 1)
        # The last bin holds its upper edge too.
        found = aten.clamp_max.default(found, max(sizes[column] - 1, 0))
        within = aten.logical_and.default(
            aten.ge.Tensor(values, aten.select.int(edge, 0, 0)), aten.le.Tensor(values, last)
        )
        places = aten.add.Tensor(aten.mul.Scalar(places, sizes[column]), found)
        inside = aten.logical_and.default(inside, within)
    total = math.prod(sizes)
    places = aten.masked_fill.Scalar(places, aten.logical_not.default(inside), total)
    added = aten.ones_like.default(places, dtype=dc.dtype(rows)) if weight is None else weight
    zeros = aten.new_zeros.default(rows, (total + 1,))
    found = aten.index_add.default(zeros, 0, places, aten.reshape.default(added, (numel(places),)))
    counts = aten.reshape.default(aten.slice.Tensor(found, 0, 0, total), sizes)
    if density:
        counts = aten.div.Tensor(counts, aten.sum.default(counts))
        for column, edge in enumerate(edges):
            widths = aten.sub.Tensor(aten.slice.Tensor(edge, 0, 1), aten.slice.Tensor(edge, 0, 0, -1))
            shape = [-1 if each == column else 1 for each in range(len(edges))]
            counts = aten.div.Tensor(counts, aten.reshape.default(widths, shape))
    return aten.clone.default(counts, memory_format=0)


def _edges(self: Array, column: Array, bins: int, given: Sequence[float] | None) -> Array:
    if given is not None:
        low, high = given
    elif numel(column):
        low, high = (
            float(aten.item.default(find(column, [], False))) for find in (aten.amin.default, aten.amax.default)
        )
    else:
        low, high = 0.0, 1.0
    if not (math.isfinite(low) and math.isfinite(high)):
        raise OperatorError(
            f"torch.histogramdd: dimension 0's range [{low:g}, {high:g}] is not finite", argument="range"
        )
    if low == high:
        low, high = low - 0.5, high + 0.5
    made = aten.linspace.default(low, high, bins + 1, dtype=dc.dtype(self), device=dc.device(self))
    return dc.wrap_like(self, made)


def _histogram(
    self: Array,
    bins: int = 100,
    *,
    range: Sequence[float] | None = None,  # torch's name
    weight: Array | None = None,
    density: bool = False,
) -> tuple[Array, Array]:
    described = None if weight is None else meta_of(weight)
    RULES["histogram.bin_ct"](meta_of(self), bins, range=range, weight=described, density=density)
    flat = aten.reshape.default(self, (numel(self), 1))
    edges = _edges(self, flat, bins, range)
    return _count(flat, [edges], weight, density), edges


def _histogram_between(
    self: Array, bins: Array, *, weight: Array | None = None, density: bool = False
) -> tuple[Array, Array]:
    described = None if weight is None else meta_of(weight)
    RULES["histogram.bins_tensor"](meta_of(self), meta_of(bins), weight=described, density=density)
    edges = aten.clone.default(bins, memory_format=0)
    return _count(aten.reshape.default(self, (numel(self), 1)), [edges], weight, density), edges


def _check_rows(self: Array, bins: Sequence[Any], range: Sequence[float] | None, weight: Array | None) -> None:
    bounds = () if range is None else range
    text, error = "", OperatorError
    if ndim(self) < 2:
        text, error = f"input tensor should have at least 2 dimensions, but got {ndim(self)}", ShapeError
    elif not dc.dtype(self).is_floating_point:
        text, error = f"input of dtype {dc.dtype(self).name} is not supported", DtypeError
    elif len(bins) != dc.shape(self)[-1]:
        text = (
            "The size of bins must be equal to the innermost dimension of the input, "
            f"{dc.shape(self)[-1]}, but is {len(bins)}"
        )
    elif range is not None and len(bounds) != 2 * len(bins):
        text = (
            f"for a {len(bins)}-dimensional histogram range should have {2 * len(bins)} elements, but got {len(bounds)}"
        )
    elif any(low > high for low, high in zip(bounds[::2], bounds[1::2], strict=True)):
        text = "min should not exceed max"
    if text:
        raise error(f"torch.histogramdd: {text}", operator="aten::histogramdd", argument="self")
    for place, each in enumerate(bins):
        if isinstance(each, int) and each <= 0:
            raise OperatorError(
                f"torch.histogram(): bins must be > 0, but got {each} for dimension {place}",
                operator="aten::histogramdd",
            )
    check_weight(meta_of(self), None if weight is None else meta_of(weight), dc.shape(self)[:-1])


def _histogramdd(
    self: Array,
    bins: int | Sequence[int] | Sequence[Array],
    range: Sequence[float] | None = None,  # torch's name
    weight: Array | None = None,
    density: bool = False,
) -> tuple[Array, tuple[Array, ...]]:
    wanted: list[Any] = [bins] * (dc.shape(self)[-1] if ndim(self) else 0) if isinstance(bins, int) else list(bins)
    _check_rows(self, wanted, range, weight)
    rows = aten.reshape.default(self, (math.prod(dc.shape(self)[:-1]), len(wanted)))
    edges = []
    for column, each in enumerate(wanted):
        given = None if range is None else range[2 * column : 2 * column + 2]
        values = aten.select.int(rows, 1, column)
        edges.append(_edges(self, values, each, given) if isinstance(each, int) else each)
    return _count(rows, edges, weight, density), tuple(edges)
