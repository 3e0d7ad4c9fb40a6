"""Views of arrays without strides, in terms of the ``prims``.

See Note [Views of arrays without strides] in `view`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, arange_like, aten, has_views, meta_of, ndim, numel, prims
from dispatch_aten.dtypes import int64
from dispatch_aten.shapes import RULES, check_storage
from dispatch_aten.shapes.dims import wrap_dim
from dispatch_core.frontends import to_data

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dispatch_aten.shapes import TensorMeta


def functional_view(name: str, self: Array, meta: TensorMeta, args: Sequence[Any]) -> Array:
    """Return the array that the view ``name`` shows; ``meta`` is the answer of its shape rule."""
    kernel: Callable[..., Array] = _KERNELS.get(name, _reshape)
    return kernel(self, meta, *args)


def _same(self: Array, *_: Any) -> Array:
    return dc.wrap_like(self, to_data(self))


def _reshape(self: Array, meta: TensorMeta, *_: Any) -> Array:
    return reshape_to(self, meta.shape)


def reshape_to(self: Array, shape: tuple[int, ...]) -> Array:
    """Return the elements in another shape."""
    return _same(self) if dc.shape(self) == shape else prims.reshape.default(self, shape)


def reorder(self: Array, order: Sequence[int]) -> Array:
    """Return the array with its dimensions in another order."""
    return _same(self) if list(order) == list(range(ndim(self))) else prims.permute.default(self, list(order))


def cut(self: Array, dim: int, start: int, end: int, step: int = 1) -> Array:
    """Return some of the places of a dimension."""
    if (start, end, step) == (0, dc.shape(self)[dim], 1):
        return _same(self)
    return prims.slice.default(self, dim, start, end, step)


def transposition(count: int, dim0: int, dim1: int) -> list[int]:
    """Return the order of dimensions in which two are exchanged."""
    order = list(range(count))
    if count:
        dim0, dim1 = wrap_dim(dim0, count), wrap_dim(dim1, count)
        order[dim0], order[dim1] = dim1, dim0
    return order


def slice_bounds(size: int, start: int | None, end: int | None, step: int) -> tuple[int, int, int]:
    """Return start, end and step of a slice as the primitives take them."""
    begin, stop, _ = slice(start, end).indices(size)
    return begin, max(begin, stop), step


def _expand(self: Array, meta: TensorMeta, *_: Any) -> Array:
    return _same(self, meta) if dc.shape(self) == meta.shape else prims.broadcast_to.default(self, meta.shape)


def _slice(
    self: Array, meta: TensorMeta, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Array:
    dim = wrap_dim(dim, ndim(self))
    return cut(self, dim, *slice_bounds(dc.shape(self)[dim], start, end, step))


def _select(self: Array, meta: TensorMeta, dim: int, index: int) -> Array:
    dim = wrap_dim(dim, ndim(self))
    index %= dc.shape(self)[dim]
    return reshape_to(cut(self, dim, index, index + 1), meta.shape)


def diagonal_slice(
    shape: tuple[int, ...], offset: int = 0, dim1: int = 0, dim2: int = 1
) -> tuple[list[int], tuple[int, ...], tuple[int, int, int]]:
    """Return how a diagonal becomes a slice: the order of dimensions, the shape of that with the last two as one, the slice.

    >>> diagonal_slice((3, 5, 4), 1, 0, 2)
    ([1, 0, 2], (5, 12), (1, 12, 5))
    """
    first, second = wrap_dim(dim1, len(shape)), wrap_dim(dim2, len(shape))
    rows, columns = shape[first], shape[second]
    kept = [dim for dim in range(len(shape)) if dim not in (first, second)]
    length = max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)
    start = (offset if offset >= 0 else -offset * columns) if length else 0
    step = columns + 1
    stop = start + (length - 1) * step + 1 if length else 0
    return [*kept, first, second], (*(shape[dim] for dim in kept), rows * columns), (start, stop, step)


def _diagonal(self: Array, meta: TensorMeta, *args: int) -> Array:
    order, flat, bounds = diagonal_slice(dc.shape(self), *args)
    return cut(reshape_to(reorder(self, order), flat), len(flat) - 1, *bounds)


def positions(self: Array, meta: TensorMeta) -> Array:
    """Return the positions of a view's elements in its base, which is row-major, as an array beside ``self``."""
    places = aten.new_full.default(self, (1,) * meta.ndim, meta.storage_offset, dtype=int64)
    for dim, (size, stride) in enumerate(zip(meta.shape, meta.strides, strict=True)):
        if size > 1:
            steps = aten.mul.Scalar(arange_like(self, size), stride)
            line = reshape_to(steps, tuple(size if each == dim else 1 for each in range(meta.ndim)))
            places = aten.add.Tensor(places, line)
    return places


def _take(self: Array, meta: TensorMeta, *_: Any) -> Array:
    if not meta.numel or not numel(self):
        return prims.reshape.default(cut(prims.reshape.default(self, (numel(self),)), 0, 0, 0), meta.shape)
    return prims.take.default(self, positions(self, meta))


def _as_strided(self: Array, meta: TensorMeta, *_: Any) -> Array:
    check_storage(meta, numel(self))
    return _take(self, meta)


def restride(self: Array, size: Sequence[int], stride: Sequence[int]) -> Array:
    """Return the elements at these steps in memory from the first on: a view where there are views, else an array."""
    if has_views(self):
        return aten.as_strided.default(self, size, stride, dc.storage_offset(self))
    meta = RULES["as_strided"](meta_of(self), size, stride)
    return functional_view("as_strided", self, meta, ())


_KERNELS: Final[dict[str, Callable[..., Array]]] = {
    "alias": _same,
    "as_strided": _as_strided,
    "detach": _same,
    "diagonal": _diagonal,
    "expand": _expand,
    "permute": lambda self, meta, dims: reorder(self, [wrap_dim(dim, ndim(self)) for dim in dims]),
    "select.int": _select,
    "slice.Tensor": _slice,
    "t": lambda self, meta: reorder(self, range(ndim(self))[::-1]),
    "transpose.int": lambda self, meta, *dims: reorder(self, transposition(ndim(self), *dims)),
    "unfold": _take,
}
"""Views that are not the same elements in another shape."""
