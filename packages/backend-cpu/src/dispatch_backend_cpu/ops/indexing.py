"""Indexing by arrays, and the gather and scatter families.

NumPy's advanced indexing has torch's meaning once masks are expanded and indices are checked. This module adds the checks,
torch's messages and the layout of results. Everything is checked before anything is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from dispatch_aten.errors import DimensionError, DtypeError, OperatorError
from dispatch_aten.shapes import wrap_dim
from dispatch_core.tracebacks import warn_caller

from ..arrays import Array, check_writable, describe, empty_strided
from ..fp_errors import ignore_fp_errors
from ..kernel_table import Kernel, KernelTable
from ..output_specs import OutputSpec, conform, half_as_float, infer_output
from . import view
from .rule_kernels import cast, check_apart, check_overlap, make_kernel, write

KERNELS: Final = KernelTable()

Indices = Sequence[Array | None]

_BYTES: Final = "indexing with dtype uint8 is now deprecated, please use a dtype bool instead"


def _to_numpy_indices(self: Array, indices: Indices) -> tuple[list[Any], list[Array | None]]:
    """Turn torch's list of indices into NumPy's tuple, masks into the integers of their true elements.

    Returns the tuple's items, and the same with None for full slices. Raises ``DimensionError`` for too many indices, masks
    that do not fit and indices that are neither integers nor masks. Whether they are in range is left to check.
    """
    places: list[Array | None] = []
    for number, given in enumerate(indices):
        if given is None:
            places.append(None)
            continue
        index = np.asarray(given)
        kind = index.dtype.char
        if kind in "?B":
            if kind == "B":
                warn_caller(_BYTES)
            _check_mask(self, index, len(places), number)
            places.extend(np.nonzero(index) if index.ndim else ())
        elif kind in "il" or index.dtype == np.int64:
            places.append(index)
        else:
            raise DimensionError("tensors used as indices must be long, int, byte or bool tensors", argument="indices")
    taken = len(places)
    if taken > self.ndim:
        raise DimensionError(f"too many indices for tensor of dimension {self.ndim} (got {taken})", argument="indices")
    items: list[Any] = [slice(None) if place is None else place for place in places]
    return items, places


def _check_mask(self: Array, mask: Array, dim: int, number: int) -> None:
    for offset, size in enumerate(mask.shape):
        if dim + offset >= self.ndim or self.shape[dim + offset] != size:
            raise DimensionError(
                f"The shape of the mask {list(mask.shape)} at index {offset} does not match the shape of the indexed tensor "
                f"{list(self.shape)} at index {dim + offset}",
                argument="indices",
            )


def _check_range(self: Array, places: list[Array | None]) -> None:
    for dim, index in enumerate(places):
        if index is None or not index.size:
            continue
        size = self.shape[dim]
        low, high = index.min(), index.max()
        if low < -size or high >= size:
            wrong = int(high if high >= size else low)
            raise DimensionError(
                f"index {wrong} is out of bounds for dimension {dim} with size {size}", argument="indices"
            )


def _is_outside(index: Array, start: int, stop: int) -> bool:
    """Return whether some index is not in [start, stop)."""
    return bool(index.size) and not (index.min() >= start and index.max() < stop)


@KERNELS("index.Tensor")
def _index(self: Array, indices: Indices) -> Array:
    if not indices:
        raise DimensionError("at least one index must be provided", operator="aten::index.Tensor", argument="indices")
    items, places = _to_numpy_indices(self, indices)
    if not items:
        return self.copy()
    spec = infer_output("index.Tensor", self, places)
    if not spec.numel:
        return conform(np.empty(spec.shape, self.dtype), spec)  # Torch looks at no index then.
    _check_range(self, places)
    return conform(self[tuple(items)], spec)


def _is_one_mask(indices: Indices) -> bool:
    given = [index for index in indices if index is not None]
    return len(given) == 1 and given[0].dtype.char in "?B"


@KERNELS("index_put_")
@ignore_fp_errors
def _index_put_inplace(self: Array, indices: Indices, values: Array, accumulate: bool = False) -> Array:
    items, places = _to_numpy_indices(self, indices)
    if not accumulate and values.size == 1 and _is_one_mask(indices):
        infer_output("index_put", self, indices, values, accumulate)
        values = cast(
            values, self.dtype
        ).copy()  # Torch calls masked_fill_ here, which reads and converts its value first.
    infer_output("index_put_", self, places, values, accumulate)
    check_writable(self, expanded=True)
    check_apart(self, values, *places)
    target = infer_output("index.Tensor", self, places)
    if not target.numel:
        return self
    _check_range(self, places)
    place = tuple(items)
    source = np.broadcast_to(values, target.shape)
    if accumulate:
        np.add.at(self, place, source)
    else:
        self[place] = source
    return self


@KERNELS("masked_select")
def _masked_select(self: Array, mask: Array) -> Array:
    if mask.dtype.kind != "b":
        raise DtypeError("masked_select: expected BoolTensor for mask", argument="mask")
    shape = infer_output("where.self", mask, self, self).shape
    return np.broadcast_to(self, shape)[np.broadcast_to(mask, shape)]


@KERNELS("nonzero")
def _nonzero(self: Array) -> Array:
    count = int(np.count_nonzero(self))
    result = empty_strided((count, self.ndim), (1, count), np.dtype(np.int64))
    for dim, place in enumerate(np.nonzero(self) if self.ndim else ()):
        result[:, dim] = place
    return result


@KERNELS("masked_scatter_")
@ignore_fp_errors
def _masked_scatter_inplace(self: Array, mask: Array, source: Array) -> Array:
    if mask.dtype.kind != "b":
        raise DtypeError(
            f"masked_scatter_ only supports boolean masks, but got mask with dtype {describe(mask).dtype.name}",
            argument="mask",
        )
    if source.dtype != self.dtype:
        raise DtypeError(
            "masked_scatter: expected self and source to have same dtypes but got "
            f"{describe(self).dtype.name} and {describe(source).dtype.name}",
            argument="source",
        )
    infer_output("copy_", self, mask)
    check_overlap(self)
    chosen = np.broadcast_to(mask, self.shape)
    count = int(np.count_nonzero(chosen))
    if count > source.size:
        raise OperatorError("masked_scatter: expected source to have at least as many elements as mask has ones")
    self[chosen] = source.reshape(-1)[:count]
    return self


def check_along(name: str, index: Array, dim: int, size: int) -> None:
    """Check indices of gather and its kin, where negative ones are refused."""
    if index.size:
        low, high = int(index.min()), int(index.max())
        if low < 0 or high >= size:
            wrong = low if low < 0 else high
            text = f"index {wrong} is out of bounds for dimension {dim} with size {size}"
            raise OperatorError(text, operator=name, argument="index")


def make_grid(self: Array, index: Array, dim: int) -> tuple[Any, ...]:
    """Return the places that ``index`` names along ``dim``: all other coordinates are its own."""
    places: list[Any] = list(np.ogrid[tuple(slice(size) for size in index.shape)])
    places[dim] = index
    return tuple(places)


@KERNELS("gather")
@ignore_fp_errors
def _gather(self: Array, dim: int, index: Array, *, sparse_grad: bool = False) -> Array:
    spec = infer_output("gather", self, dim, index, sparse_grad=sparse_grad)
    if not index.size:
        return conform(np.empty(index.shape, self.dtype), spec)
    a, index = np.atleast_1d(self), np.atleast_1d(index)
    axis = wrap_dim(dim, a.ndim)
    check_along("aten::gather", index, axis, a.shape[axis])
    return conform(a[make_grid(a, index, axis)], spec)


def _scatter_into(name: str, self: Array, dim: int, index: Array, source: Any, *, add: bool = False) -> Array:
    """Write ``source`` (an array or a number) to the places of ``index``; the last one wins, or all are added."""
    infer_output(name, self, dim, index, source)
    check_overlap(self)
    check_apart(self, index, source)
    if not index.size:
        return self
    target, index = np.atleast_1d(self), np.atleast_1d(index)
    axis = wrap_dim(dim, target.ndim)
    check_along(f"aten::{name}", index, axis, target.shape[axis])
    places = make_grid(target, index, axis)
    if isinstance(source, np.ndarray):
        source = np.atleast_1d(source)[tuple(slice(size) for size in index.shape)]
    else:
        source = cast(source, self.dtype)
    if add:
        np.add.at(target, places, source)
    else:
        target[places] = source
    return self


@KERNELS("scatter_.src", "scatter_.value")
@ignore_fp_errors
def _scatter_inplace(self: Array, dim: int, index: Array, src: Any) -> Array:
    return _scatter_into("scatter_.src" if isinstance(src, np.ndarray) else "scatter_.value", self, dim, index, src)


@KERNELS("scatter_add_")
@ignore_fp_errors
def _scatter_add_inplace(self: Array, dim: int, index: Array, src: Array) -> Array:
    return _scatter_into("scatter_add_", self, dim, index, src, add=True)


@KERNELS("index_select")
@ignore_fp_errors
def _index_select(self: Array, dim: int, index: Array) -> Array:
    spec = infer_output("index_select", self, dim, index)
    a = np.atleast_1d(self)
    axis = wrap_dim(dim, a.ndim)
    places = np.atleast_1d(index)
    if _is_outside(places, 0, a.shape[axis]):
        raise DimensionError("index out of range in self", operator="aten::index_select", argument="index")
    return conform(np.take(a, places, axis), spec)


@KERNELS("index_add_")
@ignore_fp_errors
def _index_add_inplace(self: Array, dim: int, index: Array, source: Array, *, alpha: Any = 1) -> Array:
    infer_output("index_add_", self, dim, index, source, alpha=alpha)
    check_overlap(self)
    check_apart(self, index, source)
    target = np.atleast_1d(self)
    axis = wrap_dim(dim, target.ndim)
    places = np.atleast_1d(index)
    if self.size and _is_outside(places, 0, target.shape[axis]):
        raise DimensionError("index out of range in self", operator="aten::index_add_", argument="index")
    addend = np.atleast_1d(source)
    if alpha != 1:
        addend = addend * cast(alpha, self.dtype)
    place: Any = (slice(None),) * axis + (places,)
    if self.size:
        np.add.at(target, place, addend)
    return self


@KERNELS("take")
@ignore_fp_errors
def _take(self: Array, index: Array) -> Array:
    spec = infer_output("take", self, index)
    size = self.size
    if _is_outside(index, -size, size):
        raise DimensionError("out of range: tried to access an index that self does not have", argument="index")
    return conform(self.reshape(-1)[index], spec)


@KERNELS("embedding")
@ignore_fp_errors
def _embedding(
    weight: Array, indices: Array, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Array:
    spec = infer_output("embedding", weight, indices, padding_idx, scale_grad_by_freq, sparse)
    if _is_outside(indices, 0, len(weight)):
        raise DimensionError("index out of range in self", operator="aten::embedding", argument="indices")
    return conform(weight[indices], spec)


def _embedding_dense_backward(
    spec: OutputSpec, grad: Array, indices: Array, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Any:
    flat = indices.reshape(-1)
    wide = half_as_float(grad.dtype)
    rows = cast(grad, wide).reshape(len(flat), -1)
    if scale_grad_by_freq:
        counts = np.bincount(flat, minlength=num_weights)
        rows = rows / counts[flat][:, None].astype(wide)
    kept = flat != padding_idx
    result = np.zeros((num_weights, rows.shape[1]), wide)
    np.add.at(result, flat[kept], rows[kept])
    return result


def _scatter_gradient(spec: OutputSpec, grad: Array, place: tuple[Any, ...]) -> Any:
    result = np.zeros(spec.shape, spec.array_dtype)
    result[place] = grad
    return result


def _select_backward(spec: OutputSpec, grad: Array, input_sizes: Any, dim: int, index: int) -> Any:
    return _scatter_gradient(spec, grad, (slice(None),) * wrap_dim(dim, len(input_sizes)) + (index,))


def _slice_backward(spec: OutputSpec, grad: Array, input_sizes: Any, dim: int, start: int, end: int, step: int) -> Any:
    return _scatter_gradient(spec, grad, (slice(None),) * wrap_dim(dim, len(input_sizes)) + (slice(start, end, step),))


def _diagonal_backward(spec: OutputSpec, grad: Array, input_sizes: Any, offset: int, dim1: int, dim2: int) -> Any:
    result = np.zeros(spec.shape, spec.array_dtype)
    write(view.KERNELS["diagonal"](result, offset, dim1, dim2), grad)
    return result


_COMPUTE: Final[dict[str, Kernel]] = {
    "embedding_dense_backward": _embedding_dense_backward,
    "select_backward": _select_backward,
    "slice_backward": _slice_backward,
    "diagonal_backward": _diagonal_backward,
}
KERNELS.update({name: make_kernel(name, compute) for name, compute in _COMPUTE.items()})
