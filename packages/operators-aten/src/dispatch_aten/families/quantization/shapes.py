"""Shape rules of simulated quantization."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatch_aten.dtypes import bfloat16, bool_, float16, float32, int32
from dispatch_aten.errors import OperatorError, ShapeError
from dispatch_aten.shapes.dims import wrap_dim
from dispatch_aten.shapes.layout import preserve_format
from dispatch_aten.shapes.refusals import check_kernel

if TYPE_CHECKING:
    from dispatch_aten.shapes.meta import TensorMeta


def _describe(name: str, self: TensorMeta, quant_min: int, quant_max: int) -> tuple[TensorMeta, TensorMeta]:
    if quant_min > quant_max:
        raise OperatorError("`quant_min` should be less than or equal to `quant_max`.", argument="quant_min")
    check_kernel(name, self.dtype)
    return preserve_format(self), preserve_format(self, bool_)


def _per_tensor(
    self: TensorMeta, scale: float, zero_point: int, quant_min: int, quant_max: int
) -> tuple[TensorMeta, TensorMeta]:
    found = _describe("fake_quantize_per_tensor_affine_cachemask", self, quant_min, quant_max)
    if not quant_min <= zero_point <= quant_max:
        raise OperatorError("`zero_point` must be between `quant_min` and `quant_max`.", argument="zero_point")
    return found


def _per_tensor_by_tensors(
    self: TensorMeta,
    scale: TensorMeta,
    zero_point: TensorMeta,
    fake_quant_enabled: TensorMeta,
    quant_min: int,
    quant_max: int,
) -> tuple[TensorMeta, TensorMeta]:
    found = _describe("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams", self, quant_min, quant_max)
    for name, meta in ("scale", scale), ("zero_point", zero_point), ("fake_quant_enabled", fake_quant_enabled):
        if meta.numel != 1:
            raise ShapeError(f"a Tensor with {meta.numel} elements cannot be converted to Scalar", argument=name)
    return found


def _per_channel(
    self: TensorMeta, scale: TensorMeta, zero_point: TensorMeta, axis: int, quant_min: int, quant_max: int
) -> tuple[TensorMeta, TensorMeta]:
    if scale.dtype not in (float32, bfloat16):
        raise OperatorError(f"Scale must be Float or BFloat16, found {scale.dtype.name}", argument="scale")
    if zero_point.dtype not in (int32, float32, float16):
        raise OperatorError(
            f"Zero-point must be Int32, Float or Half, found {zero_point.dtype.name}", argument="zero_point"
        )
    if scale.ndim != 1:
        raise ShapeError("scale should be a 1-D tensor", argument="scale")
    if zero_point.ndim != 1:
        raise ShapeError("zero point should be a 1-D tensor", argument="zero_point")
    if scale.numel != zero_point.numel:
        raise ShapeError("scale and zero-point need to have the same dimensions", argument="zero_point")
    size = self.shape[wrap_dim(axis, self.ndim, argument="axis", scalar=False)]
    if scale.numel != size:
        raise ShapeError("dimensions of scale and zero-point are not consistent with input tensor", argument="scale")
    if axis < 0:
        raise ShapeError("`axis` must be between 0 and number of dimensions of input", argument="axis")
    return _describe("fake_quantize_per_channel_affine_cachemask", self, quant_min, quant_max)
