"""Shape rules of copies and conversions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dispatch_aten.errors import OperatorError
from dispatch_aten.families.factory.shapes import with_memory_format
from dispatch_aten.shapes.dims import check_size
from dispatch_aten.shapes.layout import broadcast_shapes, check_output_shape, preserve_format
from dispatch_aten.shapes.meta import TensorMeta, contiguous, is_channels_last

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dispatch_aten.dtypes import ScalarType

_PRESERVE: Final = 1


def _copy(self: TensorMeta, src: TensorMeta, non_blocking: bool = False) -> TensorMeta:
    if src.shape != self.shape:
        check_output_shape(broadcast_shapes(self.shape, src.shape, argument="src"), self.shape, "src")
    return preserve_format(self)


def _clone(self: TensorMeta, *, memory_format: int | None = None) -> TensorMeta:
    return with_memory_format(self, None, memory_format)


def _contiguous(self: TensorMeta, *, memory_format: int = 0) -> TensorMeta:
    already = is_channels_last(self.shape, self.strides) if memory_format in (2, 3) else self.is_contiguous
    return self if already else with_memory_format(self, None, memory_format)


def _to_copy(
    self: TensorMeta, *, dtype: ScalarType | None = None, memory_format: int | None = None, **options: Any
) -> TensorMeta:
    return with_memory_format(self, dtype, memory_format)


def _resize_inplace(self: TensorMeta, size: Sequence[int], *, memory_format: int | None = None) -> TensorMeta:
    check_size(size)
    if memory_format == _PRESERVE:
        raise OperatorError("Unsupported memory format: Preserve", argument="memory_format")
    if tuple(size) == self.shape and memory_format is None:
        return self
    fresh = with_memory_format(contiguous(size, self.dtype), None, memory_format or 0)
    return TensorMeta(fresh.shape, fresh.strides, fresh.dtype, self.storage_offset)


def _item(self: TensorMeta) -> None:
    if self.numel != 1:
        raise OperatorError(f"a Tensor with {self.numel} elements cannot be converted to Scalar", argument="self")
