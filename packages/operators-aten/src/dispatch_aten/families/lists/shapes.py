"""Shape rules of operators on lists of tensors, and of those that repeat, reorder or sort elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dispatch_aten.dtypes import bool_, int32, int64
from dispatch_aten.errors import (
    ArgumentValueError,
    DataDependentShapeError,
    DtypeError,
    OperatorError,
    ShapeError,
    UnsupportedError,
)
from dispatch_aten.promotion import result_type
from dispatch_aten.shapes.dims import check_size, wrap_dim, wrap_dims
from dispatch_aten.shapes.layout import broadcast_shapes, preserve_format
from dispatch_aten.shapes.meta import TensorMeta, channels_last_strides, contiguous, suggests_channels_last
from dispatch_aten.shapes.own_rules import OWN_RULES

if TYPE_CHECKING:
    from collections.abc import Sequence


def _cat(tensors: Sequence[TensorMeta], dim: int = 0) -> TensorMeta:
    if not tensors:
        raise ArgumentValueError("torch.cat(): expected a non-empty list of Tensors", argument="tensors")
    for place, tensor in enumerate(tensors):
        if not tensor.shape:
            raise ShapeError(
                f"zero-dimensional tensor (at position {place}) cannot be concatenated", argument=f"tensors[{place}]"
            )
    dtype = result_type(*tensors)
    # A tensor of shape [0] may stand among tensors of any shape; torch has kept that from its early days.
    counted = [(place, tensor) for place, tensor in enumerate(tensors) if tensor.shape != (0,)]
    if not counted:
        return contiguous((0,), dtype)
    first = counted[0][1]
    dim = wrap_dim(dim, first.ndim)
    for place, tensor in counted[1:]:
        if tensor.ndim != first.ndim:
            raise ShapeError(
                f"Tensors must have same number of dimensions: got {first.ndim} and {tensor.ndim}",
                argument=f"tensors[{place}]",
            )
        for each, (have, wanted) in enumerate(zip(tensor.shape, first.shape, strict=True)):
            if each != dim and have != wanted:
                raise ShapeError(
                    f"Sizes of tensors must match except in dimension {dim}. Expected size {wanted} but got size {have} "
                    f"for tensor number {place} in the list.",
                    argument=f"tensors[{place}]",
                )
    total = sum(tensor.shape[dim] for _, tensor in counted)
    shape = (*first.shape[:dim], total, *first.shape[dim + 1 :])
    if all(suggests_channels_last(each.shape, each.strides) for each in tensors):
        return TensorMeta(shape, channels_last_strides(shape), dtype)
    return contiguous(shape, dtype)


def _stack(tensors: Sequence[TensorMeta], dim: int = 0) -> TensorMeta:
    if not tensors:
        raise OperatorError("stack expects a non-empty TensorList", argument="tensors")
    first = tensors[0].shape
    dim = wrap_dim(dim, len(first) + 1)
    for place, tensor in enumerate(tensors):
        if tensor.shape != first:
            raise ShapeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and {list(tensor.shape)} "
                f"at entry {place}",
                argument=f"tensors[{place}]",
            )
    return contiguous((*first[:dim], len(tensors), *first[dim:]), result_type(*tensors))


def _broadcast_tensors(tensors: Sequence[TensorMeta]) -> list[TensorMeta]:
    shape = broadcast_shapes(*[tensor.shape for tensor in tensors], argument="tensors")
    return [OWN_RULES["expand"](tensor, shape) for tensor in tensors]


def _repeat(self: TensorMeta, repeats: Sequence[int]) -> TensorMeta:
    if len(repeats) < self.ndim:
        raise ShapeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor",
            argument="repeats",
        )
    padded = (1,) * (len(repeats) - self.ndim) + self.shape
    shape = [size * times for size, times in zip(padded, repeats, strict=True)]
    return contiguous(check_size(shape, "repeats"), self.dtype)


def _flip(self: TensorMeta, dims: Sequence[int]) -> TensorMeta:
    wrap_dims(dims, self.ndim, argument="dims", all_if_empty=False)
    return preserve_format(self)


def _roll(self: TensorMeta, shifts: int | Sequence[int], dims: int | Sequence[int] = ()) -> TensorMeta:
    shifts = (shifts,) if isinstance(shifts, int) else tuple(shifts)
    dims = (dims,) if isinstance(dims, int) else tuple(dims)
    if not shifts:
        raise OperatorError("`shifts` required", argument="shifts")
    if not dims and len(shifts) == 1:
        return contiguous(self.shape, self.dtype)
    if len(shifts) != len(dims):
        raise OperatorError(
            f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}", argument="dims"
        )
    if not self.numel:
        return preserve_format(self)
    for shift, dim in zip(shifts, dims, strict=True):
        self = _roll_one(self, shift, wrap_dim(dim, self.ndim, argument="dims", scalar=False))
    return self


def _roll_one(self: TensorMeta, shift: int, dim: int) -> TensorMeta:
    """Describe a roll along one dimension: two slices joined."""
    size = self.shape[dim]
    start = (size - shift) % size
    cut = OWN_RULES["slice.Tensor"]
    return _cat([cut(self, dim, start, size), cut(self, dim, 0, start)], dim)


def _sort(self: TensorMeta, dim: int = -1, descending: bool = False, **options: Any) -> tuple[TensorMeta, TensorMeta]:
    wrap_dim(dim, self.ndim)
    if self.dtype.is_complex:
        raise DtypeError(" Sort does not support complex dtypes on CPU", argument="self")
    return preserve_format(self), preserve_format(self, int64)


def _argsort(self: TensorMeta, dim: int = -1, descending: bool = False, **options: Any) -> TensorMeta:
    return _sort(self, dim, descending)[1]


def _topk(
    self: TensorMeta,
    k: int,
    dim: int = -1,
    largest: bool = True,
    sorted: bool = True,  # torch's name
) -> tuple[TensorMeta, TensorMeta]:
    dim = wrap_dim(dim, self.ndim)
    size = self.shape[dim] if self.shape else 1
    if not 0 <= k <= size:
        raise OperatorError(
            "selected index k out of range", argument="k", hint=f"k is {k}, and dim {dim} has size {size}"
        )
    if self.dtype.is_complex:
        raise DtypeError(" topk does not support complex dtypes on CPU", argument="self")
    if self.dtype == bool_:
        raise DtypeError("topk does not support bool dtypes on CPU", argument="self")
    shape = (*self.shape[:dim], k, *self.shape[dim + 1 :]) if self.shape else ()
    return contiguous(shape, self.dtype), contiguous(shape, int64)


def _repeat_places(repeats: TensorMeta, *, output_size: int | None = None) -> TensorMeta:
    if repeats.ndim != 1:
        raise ShapeError("repeat_interleave only accept 1D vector as repeat", argument="repeats")
    if repeats.dtype not in (int32, int64):
        raise UnsupportedError(
            f"\"repeat_interleave_cpu\" not implemented for '{repeats.dtype.name}'", argument="repeats"
        )
    if output_size is None:
        raise DataDependentShapeError("the number of indices is in the values", argument="repeats")
    if output_size < 0:
        raise OperatorError(
            f"Trying to create tensor with negative dimension {output_size}: [{output_size}]", argument="output_size"
        )
    return contiguous((output_size,), repeats.dtype)
