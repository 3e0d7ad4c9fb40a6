"""Shape rules of complex numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatch_aten.dtypes import ScalarType, float16, float32, float64
from dispatch_aten.errors import DtypeError, OperatorError, ShapeError
from dispatch_aten.promotion import Promotion, computation_type
from dispatch_aten.shapes.elementwise import elementwise
from dispatch_aten.shapes.meta import TensorMeta, contiguous

if TYPE_CHECKING:
    pass


def _angle(self: TensorMeta) -> TensorMeta:
    dtype = computation_type(Promotion.INT_TO_FLOAT, self.dtype).to_real()
    return contiguous(self.shape, dtype) if self.dtype.is_complex else elementwise(self).with_dtype(dtype)


def _check_parts(first: TensorMeta, second: TensorMeta, kinds: tuple[ScalarType, ...]) -> None:
    if first.dtype not in kinds or second.dtype not in kinds:
        raise DtypeError(
            f"Expected both inputs to be Half, Float or Double tensors but got {first.dtype.name} and {second.dtype.name}"
        )
    if first.dtype != second.dtype:
        raise DtypeError(
            f"Expected object of scalar type {first.dtype.name} but got scalar type {second.dtype.name} for second argument"
        )


def _complex(real: TensorMeta, imag: TensorMeta) -> TensorMeta:
    _check_parts(real, imag, (float16, float32, float64))
    return elementwise(real, imag).with_dtype(real.dtype.to_complex())


def _view_as_real(self: TensorMeta) -> TensorMeta:
    if not self.dtype.is_complex:
        raise DtypeError("view_as_real is only supported for complex tensors", argument="self")
    strides = (*(2 * stride for stride in self.strides), 1)
    return TensorMeta((*self.shape, 2), strides, self.dtype.to_real(), 2 * self.storage_offset)


def _view_as_complex(self: TensorMeta) -> TensorMeta:
    if self.dtype not in (float16, float32, float64):
        raise DtypeError(
            "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: "
            f"{self.dtype.name}",
            argument="self",
        )
    if not self.shape:
        raise ShapeError("Input tensor must have one or more dimensions", argument="self")
    if self.shape[-1] != 2:
        raise ShapeError("Tensor must have a last dimension of size 2", argument="self")
    if self.strides[-1] != 1:
        raise OperatorError("Tensor must have a last dimension with stride 1", argument="self")
    if any(stride % 2 for stride in self.strides[:-1]):
        raise OperatorError("Tensor must have a stride divisible by 2 for all but last dimension", argument="self")
    if self.storage_offset % 2:
        raise OperatorError("Tensor must have a storage_offset divisible by 2", argument="self")
    strides = tuple(stride // 2 for stride in self.strides[:-1])
    return TensorMeta(self.shape[:-1], strides, self.dtype.to_complex(), self.storage_offset // 2)
