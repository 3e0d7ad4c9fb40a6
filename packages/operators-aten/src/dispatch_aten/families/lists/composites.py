"""Operators on lists of tensors, and those that repeat or reorder elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dispatch_core as dc
from dispatch_aten.decompositions._layout import lay_out
from dispatch_aten.decompositions._shared import Array, aten, meta_of, ndim, numel
from dispatch_aten.decompositions._writes import scatter_into
from dispatch_aten.dtypes import int64
from dispatch_aten.errors import OperatorError, ShapeError
from dispatch_aten.shapes import RULES
from dispatch_aten.shapes.dims import wrap_dim
from dispatch_aten.shapes.layout import broadcast_shapes

if TYPE_CHECKING:
    from collections.abc import Sequence


def _cat(tensors: Sequence[Array], dim: int = 0) -> Array:
    meta = RULES["cat"]([meta_of(tensor) for tensor in tensors], dim)
    where, start = wrap_dim(dim, meta.ndim), 0
    result = aten.new_empty_strided.default(tensors[0], meta.shape, meta.strides, dtype=meta.dtype)
    for tensor in tensors:
        shape = dc.shape(tensor)
        if len(shape) == meta.ndim and numel(tensor):
            stop = start + shape[where]
            result = scatter_into(result, [(aten.slice.Tensor, (where, start, stop, 1))], tensor)
            start = stop
    return result


def _stack(tensors: Sequence[Array], dim: int = 0) -> Array:
    RULES["stack"]([meta_of(tensor) for tensor in tensors], dim)
    where = wrap_dim(dim, ndim(tensors[0]) + 1)
    return aten.cat.default([aten.unsqueeze.default(tensor, where) for tensor in tensors], where)


def _at_least(tensor: Array, count: int) -> Array:
    shape = dc.shape(tensor)
    return aten.reshape.default(tensor, (1,) * (count - len(shape)) + shape) if len(shape) < count else tensor


def _hstack(tensors: Sequence[Array]) -> Array:
    if not tensors:
        raise OperatorError("hstack expects a non-empty TensorList", operator="aten::hstack", argument="tensors")
    grown = [_at_least(tensor, 1) for tensor in tensors]
    return aten.cat.default(grown, 0 if ndim(grown[0]) == 1 else 1)


def _vstack(tensors: Sequence[Array]) -> Array:
    if not tensors:
        raise OperatorError("vstack expects a non-empty TensorList", operator="aten::vstack", argument="tensors")
    return aten.cat.default([_at_least(tensor, 2) for tensor in tensors], 0)


def _meshgrid(tensors: Sequence[Array], *, indexing: str = "ij") -> list[Array]:
    if not tensors:
        raise OperatorError("meshgrid expects a non-empty TensorList", operator="aten::meshgrid", argument="tensors")
    for tensor in tensors:
        if ndim(tensor) > 1:
            raise ShapeError(
                f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {ndim(tensor)}D",
                operator="aten::meshgrid",
                argument="tensors",
            )
        if dc.dtype(tensor) != dc.dtype(tensors[0]):
            raise OperatorError(
                "torch.meshgrid expects all tensors to have the same dtype",
                operator="aten::meshgrid",
                argument="tensors",
            )
    if indexing not in ("ij", "xy"):
        raise OperatorError(
            f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}',
            operator="aten::meshgrid.indexing",
            argument="indexing",
        )
    swapped = indexing == "xy" and len(tensors) >= 2
    axes = [tensors[1], tensors[0], *tensors[2:]] if swapped else list(tensors)
    shape = [dc.shape(axis)[0] if dc.shape(axis) else 1 for axis in axes]
    grids = []
    for place, axis in enumerate(axes):
        spread = [-1 if each == place else 1 for each in range(len(axes))]
        grids.append(aten.expand.default(aten.view.default(axis, spread), shape))
    if swapped:
        grids[0], grids[1] = grids[1], grids[0]
    return grids


def _broadcast_tensors(tensors: Sequence[Array]) -> list[Array]:
    shape = broadcast_shapes(*[dc.shape(tensor) for tensor in tensors], argument="tensors")
    return [aten.expand.default(tensor, shape) for tensor in tensors]


def _repeat(self: Array, repeats: Sequence[int]) -> Array:
    meta = RULES["repeat"](meta_of(self), repeats)
    shape = (1,) * (len(repeats) - ndim(self)) + dc.shape(self)
    # Each dimension of length n repeated r times is an (r, n) block, expanded and then copied to one dimension.
    paired = [length for size in shape for length in (1, size)]
    spread = [length for times, size in zip(repeats, shape, strict=True) for length in (times, size)]
    grown = aten.expand.default(aten.reshape.default(self, paired), spread)
    return aten.view.default(aten.clone.default(grown, memory_format=0), meta.shape)


def _tile(self: Array, dims: Sequence[int]) -> Array:
    missing = ndim(self) - len(dims)
    return aten.repeat.default(self, [1] * missing + list(dims) if missing > 0 else dims)


def _flip(self: Array, dims: Sequence[int]) -> Array:
    expected = RULES["flip"](meta_of(self), dims)
    result = aten.clone.default(self)
    for dim in dims:
        last = dc.shape(self)[dim] - 1 if ndim(self) else -1
        if last > 0:
            places = dc.wrap_like(self, aten.arange.start_step(last, -1, -1, dtype=int64, device=dc.device(self)))
            result = aten.index_select.default(result, dim, places)
    return lay_out(result, expected)


def _roll(self: Array, shifts: int | Sequence[int], dims: int | Sequence[int] = ()) -> Array:
    RULES["roll"](meta_of(self), shifts, dims)
    shifts = [shifts] if isinstance(shifts, int) else list(shifts)
    dims = [dims] if isinstance(dims, int) else list(dims)
    shape = dc.shape(self)
    if not dims:
        flat = aten.reshape.default(self, (-1,) if shape else (1,))
        return aten.view.default(_roll_one(flat, shifts[0], 0), shape)
    result = self
    for shift, dim in zip(shifts, dims, strict=True):
        result = _roll_one(result, shift, dim)
    return result


def _roll_one(self: Array, shift: int, dim: int) -> Array:
    size = dc.shape(self)[dim]
    start = (size - shift) % size if size else 0
    if start == 0:
        return aten.clone.default(self)
    return aten.cat.default([aten.slice.Tensor(self, dim, start, size), aten.slice.Tensor(self, dim, 0, start)], dim)


def _sort(self: Array, dim: int = -1, descending: bool = False) -> tuple[Array, Array]:
    values, indices = aten.sort.stable(self, stable=False, dim=dim, descending=descending)
    return values, indices


def _topk(self: Array, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> tuple[Array, Array]:
    RULES["topk"](meta_of(self), k, dim, largest, sorted)
    values, indices = aten.sort.stable(self, stable=True, dim=dim, descending=largest)
    if not ndim(self):
        return values, indices
    return (
        aten.contiguous.default(aten.slice.Tensor(values, dim, 0, k)),
        aten.contiguous.default(aten.slice.Tensor(indices, dim, 0, k)),
    )
