"""Reading and writing elements by index arrays, which the standard has for one axis at a time."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType
from dispatch_aten.errors import DimensionError
from dispatch_aten.shapes import RULES, broadcast_shapes

from ..library import Array, ArrayLibrary, Kernel

_MASKS = (ScalarType.Bool, ScalarType.Byte)


def _positions(library: ArrayLibrary, self: Array, indices: Sequence[Array | None]) -> dict[int, Array]:
    """Return for each dimension that is indexed its positions from the start; masks become positions."""
    found: dict[int, Array] = {}
    dim = 0
    for index in indices:
        if index is not None and library.dtype_of(index) in _MASKS:
            if tuple(index.shape) != tuple(self.shape[dim : dim + index.ndim]):
                raise DimensionError(
                    f"The shape of the mask {list(index.shape)} does not match the shape of the indexed tensor"
                    f" {list(self.shape)} at dimension {dim}"
                )
            mask = library.cast(index, ScalarType.Bool)
            if not index.ndim:
                raise DimensionError("a mask without dimensions is not supported by this device")
            for each in library.xp.nonzero(mask):
                found[dim] = library.indices(each)
                dim += 1
        else:
            if index is not None:
                found[dim] = _from_start(library, library.indices(index), self.shape[dim])
            dim += 1
    return found


def _from_start(library: ArrayLibrary, index: Array, size: int) -> Array:
    """Return positions counted from the start."""
    return library.xp.where(index < 0, index + library.full((), size, ScalarType.Long), index)


class _Selection:
    """The selection of index arrays, as positions in one dimension: ``order`` brings those that are indexed to the front."""

    def __init__(self, library: ArrayLibrary, array: Array, indices: Sequence[Array | None]) -> None:
        xp, sizes = library.xp, tuple(array.shape)
        self.xp = xp
        places = _positions(library, array, indices)
        dims = [*places]
        rest = [dim for dim in range(len(sizes)) if dim not in places]
        self.order = (*dims, *rest)
        self.shape = broadcast_shapes(*[tuple(each.shape) for each in places.values()])
        self.rest = tuple([sizes[dim] for dim in rest])
        self.count = prod(sizes[dim] for dim in dims)
        self.ordered = tuple([sizes[dim] for dim in self.order])
        position = None
        for dim, index in places.items():
            before = None if position is None else position * library.full((), sizes[dim], ScalarType.Long)
            position = index if before is None else before + index
        self.position = xp.reshape(xp.broadcast_to(position, self.shape), (-1,))
        # The selected dimensions stand where the indexed ones were, unless others lie between these.
        self.first = dims[0] if dims == [*range(dims[0], dims[0] + len(dims))] and _together(indices) else 0

    def rows(self, array: Array) -> Array:
        """Return the array with the indexed elements as its first dimension."""
        return self.xp.reshape(self._permute(array, self.order), (self.count, *self.rest))

    def back(self, rows: Array) -> Array:
        """Undo ``rows``."""
        inverse = sorted(range(len(self.order)), key=self.order.__getitem__)
        return self._permute(self.xp.reshape(rows, self.ordered), inverse)

    def place(self, chosen: Array) -> Array:
        """Return chosen rows with their dimensions where the result has them."""
        found = self.xp.reshape(chosen, (*self.shape, *self.rest))
        many, first = len(self.shape), self.first
        order = [*range(many, many + first), *range(many), *range(many + first, found.ndim)]
        return self._permute(found, order)

    def spread(self, values: Array) -> Array:
        """Return values, which broadcast to the result's shape, as rows: the inverse of ``place``."""
        many, first = len(self.shape), self.first
        shape = (*self.rest[:first], *self.shape, *self.rest[first:])
        order = [*range(first, first + many), *range(first), *range(first + many, len(shape))]
        rows = self._permute(self.xp.broadcast_to(values, shape), order)
        return self.xp.reshape(rows, (prod(self.shape), *self.rest))

    def _permute(self, array: Array, order: Sequence[int]) -> Array:
        return array if list(order) == [*range(len(order))] else self.xp.permute_dims(array, tuple(order))


def _together(indices: Sequence[Array | None]) -> bool:
    given = [place for place, index in enumerate(indices) if index is not None]
    return given == [*range(given[0], given[0] + len(given))]


def make(library: ArrayLibrary) -> dict[str, Kernel]:
    """Return the kernels for a library."""
    xp = library.xp

    def index(self: Array, indices: Sequence[Array | None]) -> Array:
        if all(each is None for each in indices):
            return self
        found = _Selection(library, self, indices)
        rows = found.rows(self)
        if not found.count and not found.position.shape[0]:
            return found.place(xp.reshape(rows, (0, *found.rest)))
        return found.place(xp.take(rows, found.position, axis=0))

    def index_put(self: Array, indices: Sequence[Array | None], values: Array, accumulate: bool = False) -> Array:
        if all(each is None for each in indices):
            values = xp.broadcast_to(values, tuple(self.shape))
            return self + values if accumulate else values
        found = _Selection(library, self, indices)
        if not found.position.shape[0]:
            return self
        rows, chosen = found.rows(self), found.spread(values)
        write = library.assign or _assign_by_sorting(library)
        return found.back(write(rows, found.position, chosen, accumulate))

    def index_select(self: Array, dim: int, index: Array) -> Array:
        shape = RULES["index_select"](library.meta(self), dim, library.meta(index)).shape
        flat = self if self.ndim else xp.reshape(self, (1,))
        return xp.reshape(xp.take(flat, xp.reshape(library.indices(index), (-1,)), axis=dim), shape)

    def nonzero(self: Array) -> Array:
        if not self.ndim:
            count = int(bool(self != library.full((), 0, library.dtype_of(self))))
            return library.full((count, 0), 0, ScalarType.Long)
        found = [library.indices(each) for each in xp.nonzero(library.cast(self, ScalarType.Bool))]
        return xp.stack(found, axis=1)

    made: dict[str, Kernel] = {
        "index.Tensor": index,
        "index_put": index_put,
        "index_select": index_select,
        "nonzero": nonzero,
    }
    if hasattr(xp, "take_along_axis"):
        made["gather"] = _gather(library)
    return made


def _gather(library: ArrayLibrary) -> Kernel:
    xp, rule = library.xp, RULES["gather"]

    def gather(self: Array, dim: int, index: Array, *, sparse_grad: bool = False) -> Array:
        shape = rule(library.meta(self), dim, library.meta(index)).shape
        index = library.indices(index)
        if not self.ndim or not index.ndim:
            return xp.reshape(xp.take(xp.reshape(self, (-1,)), xp.reshape(index, (-1,)), axis=0), shape)
        axis = dim % self.ndim
        part = tuple([slice(None) if each == axis else slice(0, count) for each, count in enumerate(index.shape)])
        return xp.take_along_axis(self[part], index, axis=axis)

    return gather


def _assign_by_sorting(library: ArrayLibrary) -> Any:
    """Return a function that writes rows without item assignment: each row takes the last value that is written to it."""
    xp = library.xp

    def assign(rows: Array, position: Array, chosen: Array, accumulate: bool) -> Array:
        if accumulate:
            parts = (library.get(each) for each in (rows, position, chosen))
            whole, places, values = (each.copy() for each in parts)
            return library.put(dc.ops.aten.index_put(whole, [places], values, True))
        order = xp.argsort(position, stable=True)
        ranked = xp.take(position, order, axis=0)
        each = xp.arange(rows.shape[0], dtype=position.dtype)
        last = xp.searchsorted(ranked, each, side="right") - 1
        place = xp.where(last < 0, last * 0, last)
        written = (last >= 0) & (xp.take(ranked, place, axis=0) == each)
        values = xp.take(chosen, xp.take(order, place, axis=0), axis=0)
        shape = (rows.shape[0],) + (1,) * (rows.ndim - 1)
        return xp.where(xp.reshape(written, shape), values, rows)

    return assign
