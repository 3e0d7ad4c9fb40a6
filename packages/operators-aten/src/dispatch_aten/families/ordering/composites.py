"""Order statistics, unique elements and positions among sorted ones, in terms of sorts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import dispatch_core as dc
from dispatch_aten.decompositions._shared import (
    Array,
    arange_like,
    as_scalar_tensor,
    aten,
    cast,
    common_dtype,
    meta_of,
    ndim,
    numel,
)
from dispatch_aten.dtypes import ScalarType, float32, float64, int64
from dispatch_aten.errors import OperatorError, ShapeError
from dispatch_aten.families.ordering.shapes import check_bincount
from dispatch_aten.promotion import Number
from dispatch_aten.shapes import RULES
from dispatch_aten.shapes.dims import wrap_dim

if TYPE_CHECKING:
    from collections.abc import Callable


def _pick(values: Array, order: Array, place: Array | int, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """Return the sorted values, and where they came from, at one place along ``dim``."""
    if isinstance(place, int):
        found = [
            aten.clone.default(aten.slice.Tensor(each, dim, place, place + 1), memory_format=0)
            for each in (values, order)
        ]
    else:
        found = [aten.gather.default(each, dim, place) for each in (values, order)]
    return tuple(each if keepdim else aten.squeeze.dim(each, dim) for each in found)


def _median_place(values: Array, dim: int, ignore_nan: bool) -> Array | int:
    """Return the place of the median among sorted values, where nan comes last; a nan is the median unless ignored."""
    size = dc.shape(values)[dim]
    if not dc.dtype(values).is_floating_point:
        return (size - 1) // 2
    known = aten.sum.dim_IntList(aten.logical_not.default(aten.isnan.default(values)), [dim], True)
    if ignore_nan:
        return aten.clamp_min.default(aten.floor_divide.Scalar(aten.sub.Scalar(known, 1), 2), 0)
    return aten.where.ScalarSelf(aten.eq.Scalar(known, size), (size - 1) // 2, known)


def _median_dim(name: str) -> Callable[..., tuple[Array, Array]]:
    def kernel(self: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
        metas = RULES[f"{name}.dim"](meta_of(self), dim, keepdim)
        if not ndim(self):
            return aten.clone.default(self), aten.zeros_like.default(self, dtype=int64)
        if not metas[0].numel:
            return tuple(aten.new_empty.default(self, each.shape, dtype=each.dtype) for each in metas)
        dim = wrap_dim(dim, ndim(self))
        values, order = aten.sort.stable(self, stable=True, dim=dim)
        return _pick(values, order, _median_place(values, dim, name == "nanmedian"), dim, keepdim)

    return kernel


def _median(name: str) -> Callable[[Array], Array]:
    def kernel(self: Array) -> Array:
        RULES[name](meta_of(self))
        if not numel(self):
            lowest = float("nan") if dc.dtype(self).is_floating_point else dc.dtype(self).bounds[0]
            return aten.new_full.default(self, (), lowest)
        flat = aten.reshape.default(self, (-1,))
        return getattr(aten, name).dim(flat, 0)[0]

    return kernel


def _kthvalue(self: Array, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Array, Array]:
    RULES["kthvalue"](meta_of(self), k, dim, keepdim)
    if not ndim(self):
        return aten.clone.default(self), aten.zeros_like.default(self, dtype=int64)
    dim = wrap_dim(dim, ndim(self))
    values, order = aten.sort.stable(self, stable=True, dim=dim)
    return _pick(values, order, k - 1, dim, keepdim)


def _mode(self: Array, dim: int = -1, keepdim: bool = False) -> tuple[Array, Array]:
    """Return the ends of the longest runs of equal values among the sorted ones, the first of several."""
    RULES["mode"](meta_of(self), dim, keepdim)
    if not ndim(self):
        return aten.clone.default(self), aten.zeros_like.default(self, dtype=int64)
    dim = wrap_dim(dim, ndim(self))
    size = dc.shape(self)[dim]
    values, order = aten.sort.stable(self, stable=True, dim=dim)
    shape = [-1 if each == dim else 1 for each in range(ndim(self))]
    places = aten.expand.default(aten.view.default(arange_like(self, size), shape), dc.shape(self))
    differs = aten.ne.Tensor(aten.slice.Tensor(values, dim, 1, size), aten.slice.Tensor(values, dim, 0, size - 1))
    edge = aten.new_ones.default(differs, [1 if each == dim else length for each, length in enumerate(dc.shape(self))])
    begins, ends = aten.cat.default([edge, differs], dim), aten.cat.default([differs, edge], dim)
    starts = aten.cummax.default(aten.mul.Tensor(places, begins), dim)[0]
    lengths = aten.mul.Tensor(aten.add.Scalar(aten.sub.Tensor(places, starts), 1), ends)
    return _pick(values, order, aten.argmax.default(lengths, dim, True), dim, keepdim)


_INTERPOLATIONS: Final = ("linear", "lower", "higher", "midpoint", "nearest")


def _check_quantile(name: str, self: Array, q: Array | float, interpolation: str) -> None:
    text = ""
    if not numel(self):
        text = "input tensor must be non-empty"
    elif not isinstance(q, float) and ndim(q) > 1:
        text = "q must be a scalar or 1D tensor"
    elif dc.dtype(self) not in (float32, float64):
        text = "input tensor must be either float or double dtype"
    elif not isinstance(q, float) and dc.dtype(q) != dc.dtype(self):
        text = "q tensor must be same dtype as the input tensor"
    elif not isinstance(q, float) and dc.device(q) != dc.device(self):
        text = "q tensor must be on the same device as the input tensor"
    elif interpolation not in _INTERPOLATIONS:
        text = f"interpolation must be one of {', '.join(_INTERPOLATIONS)}, but got {interpolation}"
    elif isinstance(q, float):
        if not 0 <= q <= 1:
            text = f"q must be in the range [0, 1] but got {q}"
    elif dc.device(q).type != "meta" and numel(q):
        inside = aten.logical_and.default(aten.ge.Scalar(q, 0), aten.le.Scalar(q, 1))
        if not aten.item.default(aten.all.default(inside)):
            text = "q values must be in the range [0, 1]"
    if text:
        raise OperatorError(f"quantile() {text}", operator=f"aten::{name}", argument="q" if text[0] == "q" else "self")


def _quantile(name: str) -> Callable[..., Array]:
    def kernel(
        self: Array, q: Array | float, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
    ) -> Array:
        _check_quantile(name, self, q, interpolation)
        if isinstance(q, float):
            q = aten.new_full.default(self, (), q)
        count = ndim(self)
        where = None if dim is None else wrap_dim(dim, count)
        rows = aten.reshape.default(self, (-1,)) if where is None or not count else aten.movedim.int(self, where, -1)
        values = aten.sort.default(rows)[0]
        ranks = _ranks(values, aten.reshape.default(q, (-1,)), name == "nanquantile", interpolation)
        found = _interpolate(values, ranks, interpolation)
        if keepdim and count:
            one = (1,) * (count - 1) if where is None else ()
            found = aten.view.default(found, (*one, *dc.shape(found))) if one else found
            found = aten.unsqueeze.default(found, where or 0)
        return aten.movedim.int(found, -1, 0) if ndim(q) else aten.clone.default(aten.squeeze.dim(found, -1))

    return kernel


def _ranks(values: Array, q: Array, ignore_nan: bool, interpolation: str) -> Array:
    """Return the place of each quantile among the sorted values of each row; a row with a nan has nothing else."""
    last = dc.shape(values)[-1] - 1
    missing = aten.isnan.default(values)
    if ignore_nan:
        known = aten.sum.dim_IntList(aten.logical_not.default(missing), [-1], True)
        ranks = aten.clamp_min.default(aten.mul.Tensor(q, aten.sub.Scalar(known, 1)), 0)
    else:
        ranks = aten.where.ScalarSelf(aten.any.dim(missing, -1, True), last, aten.mul.Scalar(q, last))
    ranks = cast(ranks, dc.dtype(values))
    rounding: dict[str, Any] = {"lower": aten.floor, "higher": aten.ceil, "nearest": aten.round}
    return rounding[interpolation].default(ranks) if interpolation in rounding else ranks


def _interpolate(values: Array, ranks: Array, interpolation: str) -> Array:
    wide = aten.expand.default(ranks, (*dc.shape(values)[:-1], dc.shape(ranks)[-1]))
    below = cast(wide, int64)
    found = aten.gather.default(values, -1, below)
    if interpolation not in ("linear", "midpoint"):
        return found
    above = aten.gather.default(values, -1, cast(aten.ceil.default(wide), int64))
    weights = aten.full_like.default(wide, 0.5) if interpolation == "midpoint" else aten.sub.Tensor(wide, below)
    return aten.lerp.Tensor(found, above, weights)


def _runs(changes: Array, count: int) -> tuple[Array, Array, Array]:
    """Return the first places of runs, the number of each element's run, and the runs' lengths, of sorted elements.

    ``changes`` says of each element but the first whether it differs from the one before.
    """
    begins = aten.cat.default([aten.new_ones.default(changes, (1,)), changes], 0)
    firsts = aten.reshape.default(aten.nonzero.default(begins), (-1,))
    numbers = aten.sub.Scalar(aten.cumsum.default(begins, 0), 1)
    ends = aten.cat.default([aten.slice.Tensor(firsts, 0, 1), aten.new_full.default(firsts, (1,), count)], 0)
    return firsts, numbers, aten.sub.Tensor(ends, firsts)


def _no_indices(like: Array, shape: tuple[int, ...] = (0,)) -> Array:
    return aten.new_empty.default(like, shape, dtype=int64)


def _unique_rows(
    rows: Array, order: Array | None, shape: tuple[int, ...], return_inverse: bool, return_counts: bool
) -> tuple[Array, Array, Array]:
    """Return the distinct ones among equal neighbours in ``rows``, which ``order`` took from the input."""
    count = dc.shape(rows)[0]
    changes = aten.ne.Tensor(aten.slice.Tensor(rows, 0, 1, count), aten.slice.Tensor(rows, 0, 0, count - 1))
    if ndim(rows) > 1:
        changes = aten.any.dims(changes, list(range(1, ndim(rows))))
    firsts, numbers, lengths = _runs(changes, count)
    inverse = _no_indices(rows)
    if return_inverse:
        if order is not None:
            numbers = aten.scatter.src(aten.zeros_like.default(numbers), 0, order, numbers)
        inverse = aten.reshape.default(numbers, shape)
    found = aten.index_select.default(rows, 0, firsts)
    return found, inverse, lengths if return_counts else _no_indices(rows)


def _unique2(
    self: Array, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Array, Array, Array]:
    flat = aten.reshape.default(self, (numel(self),))
    if not numel(self):
        return flat, _no_indices(self, dc.shape(self) if return_inverse else (0,)), _no_indices(self)
    values, order = aten.sort.stable(flat, stable=True)
    return _unique_rows(values, order, dc.shape(self), return_inverse, return_counts)


def _unique_consecutive(
    self: Array, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> tuple[Array, Array, Array]:
    if dim is not None:
        return _unique_along(self, dim, return_inverse, return_counts, consecutive=True)
    flat = aten.reshape.default(self, (numel(self),))
    if not numel(self):
        return flat, _no_indices(self, dc.shape(self) if return_inverse else (0,)), _no_indices(self)
    return _unique_rows(flat, None, dc.shape(self), return_inverse, return_counts)


def _unique_along(
    self: Array, dim: int, return_inverse: bool, return_counts: bool, *, consecutive: bool
) -> tuple[Array, Array, Array]:
    where = wrap_dim(dim, ndim(self), scalar=False)
    sizes = dc.shape(self)
    if 0 in sizes:
        if sizes.count(0) > 1 or sizes[where] != 0:
            raise ShapeError(
                "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied",
                operator="aten::unique_dim",
                argument="self",
            )
        return aten.clone.default(self), _no_indices(self), _no_indices(self)
    rows = aten.movedim.int(self, where, 0)
    count, order = dc.shape(rows)[0], None
    if not consecutive:
        order = arange_like(self, count)
        columns = aten.reshape.default(rows, (count, -1))
        for column in range(dc.shape(columns)[1] - 1, -1, -1):
            keys = aten.index_select.default(aten.select.int(columns, 1, column), 0, order)
            order = aten.index_select.default(order, 0, aten.sort.stable(keys, stable=True)[1])
        rows = aten.index_select.default(rows, 0, order)
    found, inverse, counts = _unique_rows(rows, order, (count,), return_inverse, return_counts)
    return aten.contiguous.default(aten.movedim.int(found, 0, where)), inverse, counts


def _bincount(self: Array, weights: Array | None = None, minlength: int = 0) -> Array:
    check_bincount(meta_of(self), None if weights is None else meta_of(weights), minlength)
    if not numel(self):
        return aten.new_zeros.default(self, (minlength,), dtype=int64)
    if aten.item.default(aten.lt.Scalar(aten.amin.default(self), 0)):
        raise OperatorError(
            "bincount only supports 1-d non-negative integral inputs.", operator="aten::bincount", argument="self"
        )
    count = max(aten.item.default(aten.amax.default(self)) + 1, minlength)
    if weights is None:
        added = aten.ones_like.default(self, dtype=int64)
    else:
        added = weights if dc.dtype(weights) == float32 else cast(weights, float64)
    return aten.index_add.default(aten.new_zeros.default(added, (count,)), 0, cast(self, int64), added)


def _search(
    sorted_sequence: Array,
    self: Array,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Array | None = None,
) -> Array:
    """Count the boundaries before each value; nan stands behind all of them."""
    described = None if sorter is None else meta_of(sorter)
    options = {"out_int32": out_int32, "right": right, "side": side}
    meta = RULES["searchsorted.Tensor"](meta_of(sorted_sequence), meta_of(self), sorter=described, **options)
    if sorter is not None:
        sorted_sequence = aten.gather.default(sorted_sequence, -1, sorter)
    bounds = aten.unsqueeze.default(sorted_sequence, -2)
    values = aten.unsqueeze.default(self, -1)
    after = aten.gt.Tensor(bounds, values) if right or side == "right" else aten.ge.Tensor(bounds, values)
    before = aten.logical_not.default(after)
    return aten.reshape.default(aten.sum.dim_IntList(before, [-1], False, dtype=meta.dtype), meta.shape)


def _search_number(sorted_sequence: Array, self: Number, **options: Any) -> Array:
    dtype: ScalarType = common_dtype(sorted_sequence, self)
    return aten.searchsorted.Tensor(sorted_sequence, as_scalar_tensor(self, sorted_sequence, dtype), **options)


def _bucketize(self: Array | Number, boundaries: Array, *, out_int32: bool = False, right: bool = False) -> Array:
    if ndim(boundaries) != 1:
        raise OperatorError(
            f"boundaries tensor must be 1 dimension, but got dim({ndim(boundaries)})",
            operator="aten::bucketize",
            argument="boundaries",
        )
    search = _search_number if isinstance(self, (bool, int, float)) else aten.searchsorted.Tensor
    return search(boundaries, self, out_int32=out_int32, right=right)
