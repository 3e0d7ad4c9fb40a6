"""Scattered writes and reductions in terms of ``index_put``, ``gather`` and ``scatter_reduce``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, arange_like, aten, cast, meta_of, ndim, numel
from dispatch_aten.decompositions._writes import scatter_into
from dispatch_aten.dtypes import int64
from dispatch_aten.errors import DtypeError, OperatorError, ShapeError
from dispatch_aten.promotion import Number
from dispatch_aten.shapes import RULES
from dispatch_aten.shapes.dims import wrap_dim
from dispatch_aten.shapes.layout import broadcast_shapes
from dispatch_aten.shapes.refusals import refuse_kinds

if TYPE_CHECKING:
    from collections.abc import Sequence


def _flat(index: Array) -> Array:
    return aten.reshape.default(index, (numel(index),))


def _along(index: Array, dim: int, count: int) -> list[Array | None]:
    """Return the index list that applies ``index`` to one dimension."""
    return [None] * wrap_dim(dim, count) + [_flat(index)]


def _index_copy(self: Array, dim: int, index: Array, source: Array) -> Array:
    RULES["index_copy"](meta_of(self), dim, meta_of(index), meta_of(source))
    base = aten.clone.default(self, memory_format=0)
    if not ndim(self):
        return aten.reshape.default(source, ()) if numel(index) else base
    sizes = list(dc.shape(self))
    sizes[wrap_dim(dim, ndim(self))] = numel(index)
    return aten.index_put.default(base, _along(index, dim, ndim(self)), aten.reshape.default(source, sizes), False)


def _index_fill(self: Array, dim: int, index: Array, value: Number | Array) -> Array:
    is_number = isinstance(value, (bool, int, float, complex))
    name = "index_fill.int_Scalar" if is_number else "index_fill.int_Tensor"
    RULES[name](meta_of(self), dim, meta_of(index), value if is_number else meta_of(value))
    wide = self if ndim(self) else aten.reshape.default(self, (1,))
    filler = aten.new_full.default(self, (), value) if is_number else cast(value, dc.dtype(self))
    base = aten.clone.default(wide)
    if dc.is_mutable(base):
        found = aten.index_put_.default(base, _along(index, dim, ndim(wide)), filler, False)
    else:
        found = aten.index_put.default(base, _along(index, dim, ndim(wide)), filler, False)
    return found if ndim(self) else aten.reshape.default(found, ())


def _put(self: Array, index: Array, source: Array, accumulate: bool = False) -> Array:
    RULES["put"](meta_of(self), meta_of(index), meta_of(source), accumulate)
    if not numel(index):
        return aten.clone.default(self)
    flat = aten.reshape.default(aten.clone.default(self, memory_format=0), (numel(self),))
    found = aten.index_put.default(flat, [_flat(index)], _flat(source), accumulate)
    return aten.reshape.default(found, dc.shape(self))


def _without(sizes: tuple[int, ...], dim: int) -> tuple[int, ...]:
    return sizes[:dim] + sizes[dim + 1 :]


def _from_end(index: Array, size: int) -> Array:
    """Return indices with negative ones counted from the end."""
    return aten.where.self(aten.lt.Scalar(index, 0), aten.add.Scalar(index, size), index)


def _take_along_dim(self: Array, indices: Array, dim: int | None = None) -> Array:
    if dc.dtype(indices) != int64:
        raise DtypeError(
            f"torch.take_along_dim(): dtype of indices should be Long but got {dc.dtype(indices).name}",
            operator="aten::take_along_dim",
            argument="indices",
        )
    if dim is None:
        return aten.gather.default(aten.reshape.default(self, (-1,)), 0, _from_end(_flat(indices), numel(self)))
    if ndim(self) != ndim(indices):
        raise ShapeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{ndim(self)} dimensions for input, and {ndim(indices)} dimensions for indices",
            operator="aten::take_along_dim",
            argument="indices",
        )
    where = wrap_dim(dim, ndim(self))
    if not ndim(self):
        return aten.gather.default(self, where, indices)
    first, second = dc.shape(self), dc.shape(indices)
    rest = broadcast_shapes(_without(first, where), _without(second, where), argument="indices")
    sizes = [(*rest[:where], each[where], *rest[where:]) for each in (first, second)]
    wide, places = (aten.expand.default(each, size) for each, size in zip((self, indices), sizes, strict=True))
    return aten.gather.default(wide, where, _from_end(places, first[where]))


def _scatter_with(self: Array, dim: int, index: Array, src: Array | Number, *, reduce: str) -> Array:
    if reduce not in ("add", "multiply"):
        raise OperatorError(
            "reduce argument must be either add or multiply.", operator="aten::scatter", argument="reduce"
        )
    if isinstance(src, (bool, int, float, complex)):
        src = aten.new_full.default(self, dc.shape(index), src)
    if reduce == "add":
        return aten.scatter_add.default(self, dim, index, src)
    return aten.scatter_reduce.two(self, dim, index, src, "prod", include_self=True)


def _index_reduce(
    self: Array, dim: int, index: Array, source: Array, reduce: str, *, include_self: bool = True
) -> Array:
    RULES["index_reduce"](meta_of(self), dim, meta_of(index), meta_of(source), reduce, include_self=include_self)
    shape = [-1 if each == wrap_dim(dim, max(ndim(source), 1)) else 1 for each in range(max(ndim(source), 1))]
    wide = source if ndim(source) else aten.reshape.default(source, (1,))
    places = aten.expand.default(aten.reshape.default(_flat(index), shape), dc.shape(wide))
    base = self if ndim(self) else aten.reshape.default(self, (1,))
    found = aten.scatter_reduce.two(base, dim, places, wide, reduce, include_self=include_self)
    return found if ndim(self) else aten.reshape.default(found, ())


def _as_strided_scatter(
    self: Array, src: Array, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Array:
    meta = RULES["as_strided_scatter"](meta_of(self), meta_of(src), size, stride, storage_offset)
    base = aten.clone.default(self)
    start = dc.storage_offset(self) if storage_offset is None else storage_offset
    place = start - dc.storage_offset(self)
    found = scatter_into(base, [(aten.as_strided.default, (size, stride, place))], src)
    assert dc.shape(found) == meta.shape
    return found


def _nonzero_static(self: Array, *, size: int, fill_value: int = -1) -> Array:
    RULES["nonzero_static"](meta_of(self), size=size, fill_value=fill_value)
    found = aten.nonzero.default(self)
    count = dc.shape(found)[0]
    if count >= size:
        return aten.contiguous.default(aten.slice.Tensor(found, 0, 0, size))
    rest = aten.new_full.default(found, (size - count, ndim(self)), fill_value)
    return aten.cat.default([found, rest], 0)


_STARTS: Final = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "max": -math.inf, "min": math.inf}
_BY_SCATTER: Final = {"sum": "sum", "mean": "sum", "prod": "prod", "max": "amax", "min": "amin"}


def _check_segments(data: Array, reduce: str, lengths: Array | None, offsets: Array | None, axis: int) -> None:
    given = offsets if lengths is None else lengths
    text = ""
    if not numel(data):
        text = "segment_reduce(): Expected data to have at least one element"
    elif reduce not in _STARTS:
        text = f"unsupported reduction {reduce}"
    elif given is None:
        text = "segment_reduce(): Either lengths or offsets must be defined."
    elif ndim(given) < 1 or ndim(given) - 1 != axis:
        text = f"segment_reduce(): Expected axis to be the last dimension of lengths but got {axis}."
    elif ndim(given) > ndim(data) or dc.shape(given)[:axis] != dc.shape(data)[:axis]:
        text = "segment_reduce(): Expected all dimensions of lengths but the last to be those of data"
    if text:
        raise OperatorError(text, operator="aten::segment_reduce", argument="data")
    refuse_kinds("_segment_reduce_cpu", "bic", dc.dtype(data))


def _segment_reduce(
    data: Array,
    reduce: str,
    *,
    lengths: Array | None = None,
    indices: Array | None = None,
    offsets: Array | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Number | None = None,
) -> Array:
    axis = wrap_dim(axis, ndim(data))
    _check_segments(data, reduce, lengths, offsets, axis)
    sizes = dc.shape(data)
    if lengths is None:
        before, after = aten.slice.Tensor(offsets, axis, 0, -1), aten.slice.Tensor(offsets, axis, 1)
        lengths = aten.sub.Tensor(after, before)
    elif not unsafe and dc.device(lengths).type != "meta":
        _check_lengths(lengths, axis, sizes[axis])
    count = dc.shape(lengths)[axis]
    ends = aten.cumsum.default(lengths, axis)
    places = aten.expand.default(arange_like(data, sizes[axis]), sizes[: axis + 1])
    numbers = aten.searchsorted.Tensor(aten.contiguous.default(ends), aten.contiguous.default(places), right=True)
    numbers = aten.reshape.default(numbers, (*dc.shape(numbers), *(1 for _ in sizes[axis + 1 :])))
    start = _STARTS[reduce] if initial is None else initial
    # Elements behind all segments go to one more, which is cut off.
    base = aten.new_full.default(data, (*sizes[:axis], count + 1, *sizes[axis + 1 :]), start)
    wide = aten.expand.default(numbers, sizes)
    found = aten.scatter_reduce.two(base, axis, wide, data, _BY_SCATTER[reduce], include_self=True)
    found = aten.slice.Tensor(found, axis, 0, count)
    if reduce == "mean":
        shares = aten.reshape.default(lengths, (*dc.shape(lengths), *(1 for _ in sizes[axis + 1 :])))
        if initial is not None:
            shares = aten.clamp_min.default(shares, 1)
        found = aten.div.Tensor(found, shares)
    return aten.contiguous.default(found)


def _check_lengths(lengths: Array, axis: int, size: int) -> None:
    if numel(lengths) and aten.item.default(aten.lt.Scalar(aten.amin.default(lengths), 0)):
        text = "lengths contains negative value!"
    elif aten.item.default(aten.any.default(aten.ne.Scalar(aten.sum.dim_IntList(lengths, [axis]), size))):
        text = "Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when !unsafe."
    else:
        return
    raise OperatorError(f"segment_reduce(): {text}", operator="aten::segment_reduce", argument="lengths")
