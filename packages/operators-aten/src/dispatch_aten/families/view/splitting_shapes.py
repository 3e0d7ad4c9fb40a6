"""Shape rules of views that cut a tensor into pieces."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from dispatch_aten.errors import DimensionError, OperatorError, ShapeError
from dispatch_aten.shapes.dims import wrap_dim
from dispatch_aten.shapes.meta import TensorMeta, contiguous
from dispatch_aten.shapes.own_rules import OWN_RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

slice_of: Final[Callable[..., TensorMeta]] = OWN_RULES["slice.Tensor"]
select_of: Final[Callable[..., TensorMeta]] = OWN_RULES["select.int"]


#: More pieces than this are not made: their descriptions alone would take gigabytes.
_MOST_PIECES: Final = 1 << 24


def _check_pieces(count: int) -> None:
    if count > _MOST_PIECES:
        raise OperatorError(f"{count} pieces are more than memory holds; at most {_MOST_PIECES} are made")


def _split(self: TensorMeta, split_size: int, dim: int = 0) -> list[TensorMeta]:
    if not self.shape:
        raise ShapeError("split expects at least a 1-dimensional tensor", argument="self")
    if split_size < 0:
        raise OperatorError(
            f"split expects split_size be non-negative, but got split_size={split_size}", argument="split_size"
        )
    dim = wrap_dim(dim, self.ndim)
    size = self.shape[dim]
    if split_size == 0:
        if size != 0:
            raise OperatorError(
                f"split_size can only be 0 if dimension size is 0, but got dimension size of {size}",
                argument="split_size",
            )
        return [self]
    starts = range(0, max(size, 1), split_size)
    _check_pieces(len(starts))
    return [slice_of(self, dim, start, min(start + split_size, size)) for start in starts]


def _split_with_sizes(self: TensorMeta, split_sizes: Sequence[int], dim: int = 0) -> list[TensorMeta]:
    if not self.shape:
        raise ShapeError("split expects at least a 1-dimensional tensor", argument="self")
    size = self.shape[wrap_dim(dim, self.ndim)]
    pieces = []
    start = 0
    for length in split_sizes:
        if length < 0:
            raise OperatorError(
                "split_with_sizes expects split_sizes have only non-negative entries, "
                f"but got split_sizes={list(split_sizes)}",
                argument="split_sizes",
            )
        pieces.append((start, start + length))
        start += length
    if start != size:
        raise OperatorError(
            f"split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's size at dimension {dim}), "
            f"but got split_sizes={list(split_sizes)}",
            argument="split_sizes",
        )
    return [slice_of(self, dim, first, last) for first, last in pieces]


def _chunk(self: TensorMeta, chunks: int, dim: int = 0) -> list[TensorMeta]:
    if not self.shape:
        raise ShapeError("chunk expects at least a 1-dimensional tensor", argument="self")
    if chunks <= 0:
        raise OperatorError(f"chunk expects `chunks` to be greater than 0, got: {chunks}", argument="chunks")
    size = self.shape[wrap_dim(dim, self.ndim)]
    split_size = (size + chunks - 1) // chunks
    if split_size == 0:
        _check_pieces(chunks)
        return _split_with_sizes(self, [0] * chunks, dim)
    return _split(self, split_size, dim)


def _tensor_split(self: TensorMeta, parts: int | Sequence[int], dim: int = 0) -> list[TensorMeta]:
    if not self.shape:
        raise ShapeError(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims", argument="self"
        )
    dim = wrap_dim(dim, self.ndim)
    size = self.shape[dim]
    if isinstance(parts, int):
        if parts <= 0:
            raise OperatorError(f"number of sections must be larger than 0, got {parts}", argument="sections")
        _check_pieces(parts)
        least, longer = divmod(size, parts)
        bounds = [0]
        for part in range(parts):
            bounds.append(bounds[-1] + least + (part < longer))
        return [slice_of(self, dim, a, b) for a, b in pairwise(bounds)]
    starts, ends = [0, *parts], [*parts, size]
    return [slice_of(self, dim, a, b) for a, b in zip(starts, ends, strict=True)]


def _unbind(self: TensorMeta, dim: int = 0) -> list[TensorMeta]:
    if not self.shape:
        raise DimensionError("Dimension specified as 0 but tensor has no dimensions", argument="self")
    dim = wrap_dim(dim, self.ndim)
    _check_pieces(self.shape[dim])
    return [select_of(self, dim, index) for index in range(self.shape[dim])]


def _unfold(self: TensorMeta, dimension: int, size: int, step: int) -> TensorMeta:
    dim = wrap_dim(dimension, self.ndim, argument="dimension")
    length = self.shape[dim] if self.shape else 1
    if size < 0:
        raise OperatorError(f"size is {size} but must be >= 0", argument="size")
    if size > length:
        raise OperatorError(
            f"maximum size for tensor at dimension {dim} is {length} but size is {size}", argument="size"
        )
    if step <= 0:
        raise OperatorError(f"step is {step} but must be > 0", argument="step")
    if not self.shape:
        return TensorMeta((size,), (1,), self.dtype, self.storage_offset)
    shape = (*self.shape[:dim], (length - size) // step + 1, *self.shape[dim + 1 :], size)
    strides = (*self.strides[:dim], step * self.strides[dim], *self.strides[dim + 1 :], self.strides[dim])
    return TensorMeta(shape, strides, self.dtype, self.storage_offset)


def _diag_embed(self: TensorMeta, offset: int = 0, dim1: int = -2, dim2: int = -1) -> TensorMeta:
    first = wrap_dim(dim1, self.ndim + 1, argument="dim1")
    second = wrap_dim(dim2, self.ndim + 1, argument="dim2")
    if first == second:
        raise ShapeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}", argument="dim2")
    length = abs(offset) + self.shape[-1]
    shape = list(self.shape[:-1])
    for dim in sorted((first, second)):
        shape.insert(dim, length)
    return contiguous(shape, self.dtype)
