"""Shape rules of views: shape, strides and storage offset of results that share their input's memory."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from dispatch_aten.dtypes import bool_
from dispatch_aten.errors import DimensionError, DtypeError, OperatorError, ShapeError
from dispatch_aten.shapes.dims import check_size, refuse_ragged, wrap_dim, wrap_dims
from dispatch_aten.shapes.meta import TensorMeta, contiguous
from dispatch_aten.shapes.sizes import infer_size, view_strides

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dispatch_aten.dtypes import ScalarType


def _as(meta: TensorMeta, shape: Sequence[int], strides: Sequence[int], offset: int | None = None) -> TensorMeta:
    return TensorMeta(tuple(shape), tuple(strides), meta.dtype, meta.storage_offset if offset is None else offset)


def _view(self: TensorMeta, size: Sequence[int]) -> TensorMeta:
    shape = infer_size(size, self.numel)
    strides = view_strides(self.shape, self.strides, shape)
    if strides is None:
        raise ShapeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead.",
            argument="size",
        )
    return _as(self, shape, strides)


def _reshape(self: TensorMeta, shape: Sequence[int]) -> TensorMeta:
    size = infer_size(shape, self.numel)
    strides = view_strides(self.shape, self.strides, size)
    return contiguous(size, self.dtype) if strides is None else _as(self, size, strides)


def _as_strided(
    self: TensorMeta, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> TensorMeta:
    if len(size) != len(stride):
        raise ShapeError("mismatch in length of strides and shape", argument="stride")
    if any(step < 0 for step in stride):
        raise OperatorError(
            f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}",
            argument="stride",
        )
    check_size(size)
    if storage_offset is not None and storage_offset < 0:
        raise OperatorError(f"Tensor: invalid storage offset {storage_offset}", argument="storage_offset")
    return _as(self, size, stride, storage_offset)


def _select(self: TensorMeta, dim: int, index: int) -> TensorMeta:
    if not self.shape:
        raise DimensionError("select() cannot be applied to a 0-dim tensor.", argument="self")
    dim = wrap_dim(dim, self.ndim)
    size = self.shape[dim]
    if not -size <= index < size:
        raise DimensionError(
            f"select(): index {index} out of range for tensor of size {list(self.shape)} at dimension {dim}",
            argument="index",
        )
    offset = self.storage_offset + (index + size if index < 0 else index) * self.strides[dim]
    return _as(self, _without(self.shape, dim), _without(self.strides, dim), offset)


def _without(values: tuple[int, ...], dim: int) -> tuple[int, ...]:
    return values[:dim] + values[dim + 1 :]


def _replace(values: tuple[int, ...], dim: int, value: int) -> tuple[int, ...]:
    return (*values[:dim], value, *values[dim + 1 :])


def _slice(
    self: TensorMeta, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> TensorMeta:
    if not self.shape:
        raise DimensionError("slice() cannot be applied to a 0-dim tensor.", argument="self")
    dim = wrap_dim(dim, self.ndim)
    if step <= 0:
        raise OperatorError("slice step must be positive", argument="step")
    start, end = _clip(self.shape[dim], start, end)
    length = (end - start + step - 1) // step
    offset = self.storage_offset + start * self.strides[dim]
    return _as(self, _replace(self.shape, dim, length), _replace(self.strides, dim, self.strides[dim] * step), offset)


def _clip(size: int, start: int | None, end: int | None) -> tuple[int, int]:
    start = 0 if start is None else start
    end = size if end is None else end
    start = min(max(start + size if start < 0 else start, 0), size)
    end = min(max(end + size if end < 0 else end, start), size)
    return start, end


def _expand(self: TensorMeta, size: Sequence[int], *, implicit: bool = False) -> TensorMeta:
    size = tuple(size)
    if len(size) < self.ndim:
        raise ShapeError(
            f"expand({self.dtype.name}Tensor{{{list(self.shape)}}}, size={list(size)}): the number of sizes provided "
            f"({len(size)}) must be greater or equal to the number of dimensions in the tensor ({self.ndim})",
            argument="size",
        )
    shape = list(size)
    strides = [0] * len(size)
    new = len(size) - self.ndim
    for dim in range(len(size) - 1, -1, -1):
        old = dim - new
        length, stride = (self.shape[old], self.strides[old]) if old >= 0 else (1, 0)
        if old < 0 and dim + 1 < len(size):
            stride = shape[dim + 1] * strides[dim + 1]
        wanted = size[dim]
        if wanted == -1:
            if old < 0:
                raise ShapeError(
                    f"The expanded size of the tensor ({wanted}) isn't allowed in a leading, non-existing dimension {dim}",
                    argument="size",
                )
            wanted = length
        if wanted != length:
            if length != 1:
                raise ShapeError(
                    f"The expanded size of the tensor ({wanted}) must match the existing size ({length}) at "
                    f"non-singleton dimension {dim}.  Target sizes: {list(size)}.  Tensor sizes: {list(self.shape)}",
                    argument="size",
                )
            if wanted < 0:
                refuse_ragged(size)
                raise ShapeError(
                    f"Trying to create tensor with negative dimension {wanted}: {list(size)}", argument="size"
                )
            length, stride = wanted, 0
        shape[dim], strides[dim] = length, stride
    return _as(self, shape, strides)


def _permute(self: TensorMeta, dims: Sequence[int]) -> TensorMeta:
    if len(dims) != self.ndim:
        raise ShapeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {self.ndim} is not equal to len(dims) = {len(dims)}",
            argument="dims",
        )
    order: list[int] = []
    for dim in dims:
        wrapped = wrap_dim(dim, self.ndim, argument="dims")
        if wrapped in order:
            raise ShapeError("permute(): duplicate dims are not allowed.", argument="dims")
        order.append(wrapped)
    return _as(self, [self.shape[dim] for dim in order], [self.strides[dim] for dim in order])


def _transpose(self: TensorMeta, dim0: int, dim1: int) -> TensorMeta:
    dim0 = wrap_dim(dim0, self.ndim, argument="dim0")
    dim1 = wrap_dim(dim1, self.ndim, argument="dim1")
    if dim0 == dim1:
        return self
    order = list(range(self.ndim))
    order[dim0], order[dim1] = dim1, dim0
    return _permute(self, order)


def _t(self: TensorMeta) -> TensorMeta:
    if self.ndim > 2:
        raise ShapeError(f"t() expects a tensor with <= 2 dimensions, but self is {self.ndim}D", argument="self")
    return self if self.ndim < 2 else _transpose(self, 0, 1)


def _squeeze(self: TensorMeta, dim: int | Sequence[int] | None = None) -> TensorMeta:
    dims = wrap_dims(dim, self.ndim, all_if_empty=False)
    kept = [place for place, size in enumerate(self.shape) if size != 1 or place not in dims]
    return _as(self, [self.shape[place] for place in kept], [self.strides[place] for place in kept])


def _unsqueeze(self: TensorMeta, dim: int) -> TensorMeta:
    dim = wrap_dim(dim, self.ndim + 1)
    stride = self.shape[dim] * self.strides[dim] if dim < self.ndim else 1
    return _as(self, (*self.shape[:dim], 1, *self.shape[dim:]), (*self.strides[:dim], stride, *self.strides[dim:]))


def _narrow(self: TensorMeta, dim: int, start: int, length: int) -> TensorMeta:
    if not self.shape:
        raise ShapeError("narrow() cannot be applied to a 0-dim tensor.", argument="self")
    if length < 0:
        raise OperatorError("narrow(): length must be non-negative.", argument="length")
    dim = wrap_dim(dim, self.ndim)
    size = self.shape[dim]
    if not -size <= start <= size:
        raise DimensionError(
            f"start out of range (expected to be in range of [{-size}, {size}], but got {start})", argument="start"
        )
    start = start + size if start < 0 else start
    if start + length > size:
        raise OperatorError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).", argument="length")
    return _slice(self, dim, start, start + length, 1)


def _diagonal(self: TensorMeta, offset: int = 0, dim1: int = 0, dim2: int = 1) -> TensorMeta:
    first, second = wrap_dim(dim1, self.ndim, argument="dim1"), wrap_dim(dim2, self.ndim, argument="dim2")
    if first == second:
        raise ShapeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}", argument="dim2")
    rows, columns = self.shape[first], self.shape[second]
    length = max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)
    start = self.storage_offset
    if length:
        start += offset * self.strides[second] if offset >= 0 else -offset * self.strides[first]
    kept = [dim for dim in range(self.ndim) if dim not in (first, second)]
    return _as(
        self,
        [*(self.shape[dim] for dim in kept), length],
        [*(self.strides[dim] for dim in kept), self.strides[first] + self.strides[second]],
        start,
    )


def _flatten(self: TensorMeta, start_dim: int = 0, end_dim: int = -1) -> TensorMeta:
    start = wrap_dim(start_dim, self.ndim, argument="start_dim")
    end = wrap_dim(end_dim, self.ndim, argument="end_dim")
    if start > end:
        raise ShapeError("flatten() has invalid args: start_dim cannot come after end_dim", argument="start_dim")
    if not self.shape:
        return _reshape(self, (1,))
    if start == end:
        return self
    middle = prod(self.shape[start : end + 1])
    return _reshape(self, (*self.shape[:start], middle, *self.shape[end + 1 :]))


def _unflatten(self: TensorMeta, dim: int, sizes: Sequence[int]) -> TensorMeta:
    dim = wrap_dim(dim, self.ndim)
    if not sizes:
        raise OperatorError("unflatten: sizes must be non-empty", argument="sizes")
    if not self.shape:
        raise OperatorError("unflatten: the tensor has no dimensions", argument="self")
    length = self.shape[dim]
    known = prod(size for size in sizes if size != -1)
    filled = list(sizes)
    if -1 in filled and known and length % known == 0:
        filled[filled.index(-1)] = length // known
    if prod(filled) != length or any(size < 0 for size in filled):
        said = "don't multiply up to the size of dim"
        raise OperatorError(
            f"unflatten: Provided sizes {list(sizes)} {said} {dim} ({length}) in the input tensor", argument="sizes"
        )
    return _view(self, (*self.shape[:dim], *filled, *self.shape[dim + 1 :]))


def _movedim(self: TensorMeta, source: int | Sequence[int], destination: int | Sequence[int]) -> TensorMeta:
    sources = (source,) if isinstance(source, int) else tuple(source)
    targets = (destination,) if isinstance(destination, int) else tuple(destination)
    if len(sources) != len(targets):
        raise ShapeError(
            "movedim: Invalid source or destination dims: source "
            f"({list(sources)} dims) should contain the same number of dims as destination ({list(targets)} dims)",
            argument="destination",
        )
    sources, targets = (
        _distinct(name, given, tuple(wrap_dim(dim, self.ndim, argument=name) for dim in given))
        for name, given in (("source", sources), ("destination", targets))
    )
    if not self.shape:
        return self
    taken = dict(zip(targets, sources, strict=True))
    rest = iter(dim for dim in range(self.ndim) if dim not in sources)
    return _permute(self, [taken[dim] if dim in taken else next(rest) for dim in range(self.ndim)])


def _distinct(name: str, given: tuple[int, ...], wrapped: tuple[int, ...]) -> tuple[int, ...]:
    if len(set(wrapped)) != len(wrapped):
        raise ShapeError(f"movedim: repeated dim in `{name}` ({list(given)})", argument=name)
    return wrapped


def _positive(self: TensorMeta) -> TensorMeta:
    if self.dtype == bool_:
        raise DtypeError("The `+` operator, on a bool tensor is not supported.", argument="self")
    return self


def _view_dtype(self: TensorMeta, dtype: ScalarType) -> TensorMeta:
    """View the elements' bytes as another dtype; where its size differs, the last dimension changes with it."""
    old, new = self.dtype.itemsize, dtype.itemsize
    if old == new:
        return TensorMeta(self.shape, self.strides, dtype, self.storage_offset)
    what = f"to view {self.dtype.name} as {dtype.name} (different element sizes)"
    if not self.shape:
        raise OperatorError(f"self.dim() cannot be 0 {what}", argument="self")
    if self.strides[-1] != 1:
        raise OperatorError(f"self.stride(-1) must be 1 {what}, but got {self.strides[-1]}", argument="self")
    *outer, last = self.shape
    if old > new:
        ratio = old // new
        wider = (*(step * ratio for step in self.strides[:-1]), 1)
        return TensorMeta((*outer, last * ratio), wider, dtype, self.storage_offset * ratio)
    ratio = new // old
    if last % ratio:
        raise OperatorError(f"self.size(-1) must be divisible by {ratio} {what}, but got {last}", argument="self")
    if self.storage_offset % ratio:
        raise OperatorError(
            f"self.storage_offset() must be divisible by {ratio} {what}, but got {self.storage_offset}", argument="self"
        )
    for dim, step in enumerate(self.strides[:-1]):
        if step % ratio:
            raise OperatorError(
                f"self.stride({dim}) must be divisible by {ratio} {what}, but got {step}", argument="self"
            )
    narrower = (*(step // ratio for step in self.strides[:-1]), 1)
    return TensorMeta((*outer, last // ratio), narrower, dtype, self.storage_offset // ratio)
