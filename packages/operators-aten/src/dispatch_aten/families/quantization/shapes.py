"""Shape rules of simulated quantization."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatch_aten.dtypes import bfloat16, bool_, float16, float32, int32
from dispatch_aten.errors import DimensionError, OperatorError, ShapeError
from dispatch_aten.shapes.dims import wrap_dim
from dispatch_aten.shapes.layout import preserve_format
from dispatch_aten.shapes.meta import contiguous
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


def _learnable_per_tensor(
    self: TensorMeta,
    scale: TensorMeta,
    zero_point: TensorMeta,
    quant_min: int,
    quant_max: int,
    grad_factor: float = 1.0,
) -> TensorMeta:
    for name, meta in ("scale", scale), ("zero_point", zero_point):
        if not meta.ndim:
            raise DimensionError("select() cannot be applied to a 0-dim tensor.", argument=name)
        if not meta.shape[0]:
            raise DimensionError("select(): index 0 out of range for tensor of size [0] at dimension 0", argument=name)
    return _describe("_fake_quantize_learnable_per_tensor_affine", self, quant_min, quant_max)[0]


def _learnable_per_channel(
    self: TensorMeta,
    scale: TensorMeta,
    zero_point: TensorMeta,
    axis: int,
    quant_min: int,
    quant_max: int,
    grad_factor: float = 1.0,
) -> TensorMeta:
    # What is rounded is an integer, of whatever dtype.
    rounded = zero_point.with_dtype(int32)
    return _per_channel(self, scale, rounded, axis, quant_min, quant_max)[0]


def _describe_gradients(
    grad: TensorMeta, self: TensorMeta, scale: TensorMeta, zero_point: TensorMeta, quant_min: int, quant_max: int
) -> TensorMeta:
    for name, meta in ("grad", grad), ("self", self), ("scale", scale), ("zero_point", zero_point):
        if meta.dtype is not float32:
            raise OperatorError(f"Expected {name} to be of float32, but got {meta.dtype.name}", argument=name)
    if grad.shape != self.shape:
        raise ShapeError(f"`X` and `dY` are not the same size: {self.shape} and {grad.shape}", argument="grad")
    if not quant_min <= 0 <= quant_max:
        raise OperatorError("`quant_min` should be less than or equal to `quant_max`, and 0 lie between them.")
    return preserve_format(self)


def _learnable_per_tensor_gradients(
    grad: TensorMeta,
    self: TensorMeta,
    scale: TensorMeta,
    zero_point: TensorMeta,
    quant_min: int,
    quant_max: int,
    grad_factor: float = 1.0,
) -> tuple[TensorMeta, TensorMeta, TensorMeta]:
    found = _describe_gradients(grad, self, scale, zero_point, quant_min, quant_max)
    one = contiguous((1,), float32)
    return found, one, one


def _learnable_per_channel_gradients(
    grad: TensorMeta,
    self: TensorMeta,
    scale: TensorMeta,
    zero_point: TensorMeta,
    axis: int,
    quant_min: int,
    quant_max: int,
    grad_factor: float = 1.0,
) -> tuple[TensorMeta, TensorMeta, TensorMeta]:
    found = _describe_gradients(grad, self, scale, zero_point, quant_min, quant_max)
    return found, contiguous(scale.shape, float32), contiguous(zero_point.shape, float32)
