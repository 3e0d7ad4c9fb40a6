"""Shape rules of the primitives that represent views where arrays have no strides: every result is a row-major array."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, Final, cast

from dispatch_aten.dtypes import int64
from dispatch_aten.errors import DimensionError, DtypeError, OperatorError, ShapeError
from dispatch_aten.shapes.dims import check_size
from dispatch_aten.shapes.meta import TensorMeta, contiguous

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def _reshape(self: TensorMeta, shape: Sequence[int]) -> TensorMeta:
    if min(shape, default=0) < 0 or prod(shape) != self.numel:
        raise ShapeError(f"shape '{list(shape)}' is invalid for input of size {self.numel}", argument="shape")
    return contiguous(shape, self.dtype)


def _permute(self: TensorMeta, dims: Sequence[int]) -> TensorMeta:
    if sorted(dims) != list(range(self.ndim)):
        raise ShapeError(f"dims {list(dims)} are not a permutation of {self.ndim} dimensions", argument="dims")
    return contiguous([self.shape[dim] for dim in dims], self.dtype)


def _slice(self: TensorMeta, dim: int, start: int, end: int, step: int) -> TensorMeta:
    if not 0 <= dim < self.ndim:
        raise DimensionError(f"dim {dim} is none of the {self.ndim} dimensions", argument="dim")
    size = self.shape[dim]
    if not 0 <= start <= end <= size or step < 1:
        raise OperatorError(
            f"start {start}, end {end} and step {step} do not lie within a dimension of size {size}", argument="start"
        )
    return contiguous((*self.shape[:dim], -((start - end) // step), *self.shape[dim + 1 :]), self.dtype)


def _broadcast_to(self: TensorMeta, shape: Sequence[int]) -> TensorMeta:
    check_size(shape)
    new = len(shape) - self.ndim
    if new < 0 or any(have not in (1, wanted) for have, wanted in zip(self.shape, shape[new:], strict=True)):
        raise ShapeError(f"shape {list(self.shape)} does not broadcast to {list(shape)}", argument="shape")
    return contiguous(shape, self.dtype)


def _take(self: TensorMeta, index: TensorMeta) -> TensorMeta:
    if index.dtype != int64:
        raise DtypeError(f"index has dtype {index.dtype.name} instead of Long", argument="index")
    if index.numel and not self.numel:
        raise DimensionError("an array without elements has none to take", argument="index")
    return contiguous(index.shape, self.dtype)


def _slice_scatter(self: TensorMeta, src: TensorMeta, dim: int, start: int, end: int, step: int) -> TensorMeta:
    part = _slice(self, dim, start, end, step)
    if src.shape != part.shape or src.dtype != self.dtype:
        raise ShapeError(
            f"src is {src.dtype.name}{list(src.shape)}, and the part {self.dtype.name}{list(part.shape)}",
            argument="src",
        )
    return contiguous(self.shape, self.dtype)


def _pin_memory(self: TensorMeta, device: str) -> TensorMeta:
    from dispatch_aten.shapes import RULES  # it asks for this module's rules

    return cast("TensorMeta", RULES["clone"](self))


PRIMITIVES: Final[dict[str, Callable[..., Any]]] = {
    "prims::pin_memory": _pin_memory,
    "prims::reshape": _reshape,
    "prims::permute": _permute,
    "prims::slice": _slice,
    "prims::broadcast_to": _broadcast_to,
    "prims::take": _take,
    "prims::slice_scatter": _slice_scatter,
}
"""The rules by their operators, namespace included."""
