"""Shape rules of activations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dispatch_aten.dtypes import float16
from dispatch_aten.errors import DtypeError, OperatorError, ShapeError, UnsupportedError
from dispatch_aten.shapes.dims import wrap_dim
from dispatch_aten.shapes.elementwise import elementwise
from dispatch_aten.shapes.layout import preserve_format
from dispatch_aten.shapes.meta import TensorMeta, contiguous
from dispatch_aten.shapes.refusals import GREATEST, kind_of, refuse_kinds

if TYPE_CHECKING:
    from dispatch_aten.promotion import Number


def _hardtanh(self: TensorMeta, min_val: Number = -1, max_val: Number = 1) -> TensorMeta:
    kind = kind_of(self.dtype)
    if kind == "b":
        raise OperatorError("Bool inputs not supported for hardtanh", argument="self")
    if kind == "c":
        raise UnsupportedError("clamp is not supported for complex types", argument="self")
    if kind == "i" and not self.dtype.is_signed and (min_val < 0 or max_val < 0):  # type: ignore[operator]
        raise OperatorError("cannot do hardtanh on an unsigned type with negative limits", argument="min_val")
    return elementwise(self)


def _celu(self: TensorMeta, alpha: Number = 1.0) -> TensorMeta:
    if alpha == 0:
        raise OperatorError("ZeroDivisionError: alpha cannot be 0 for CELU", argument="alpha")
    refuse_kinds("elu_cpu", "bic", self.dtype)
    return elementwise(self)


def _softshrink(self: TensorMeta, lambd: Number = 0.5) -> TensorMeta:
    refuse_kinds("softshrink_check", "bic", self.dtype)
    greatest = GREATEST[self.dtype]
    if not 0 <= lambd <= greatest:  # type: ignore[operator]
        raise OperatorError(
            f"lambda must be in range [0, {greatest:g}] for input dtype {self.dtype.name}, but found {lambd:g}",
            argument="lambd",
        )
    return elementwise(self)


def _check_halves(self: TensorMeta, dim: int) -> int:
    if not self.ndim:
        raise OperatorError("glu does not support 0-dimensional tensors", argument="self")
    dim = wrap_dim(dim, self.ndim)
    if self.shape[dim] % 2:
        raise ShapeError(
            f"Halving dimension must be even, but dimension {dim} is size {self.shape[dim]}", argument="self"
        )
    return dim


def _glu(self: TensorMeta, dim: int = -1) -> TensorMeta:
    dim = _check_halves(self, dim)
    refuse_kinds("glu_cpu", "bic", self.dtype)
    half = (*self.shape[:dim], self.shape[dim] // 2, *self.shape[dim + 1 :])
    return elementwise(TensorMeta(half, self.strides, self.dtype))


def _glu_backward(grad_output: TensorMeta, self: TensorMeta, dim: int) -> TensorMeta:
    _check_halves(self, dim)
    if kind_of(self.dtype) in "bi":
        raise DtypeError(f"result type Float can't be cast to the desired output type {self.dtype.name}")
    refuse_kinds("glu_backward_cpu", "bic", self.dtype)
    return contiguous(self.shape, self.dtype)


def _prelu_kernel(self: TensorMeta, weight: TensorMeta) -> TensorMeta:
    found = elementwise(self, weight)
    refuse_kinds("prelu_cpu", "bic", found.dtype)
    return found


def _prelu_kernel_backward(
    grad_output: TensorMeta, self: TensorMeta, weight: TensorMeta
) -> tuple[TensorMeta, TensorMeta]:
    found = elementwise(self, weight, grad_output)
    refuse_kinds("prelu_backward_cpu", "bic", found.dtype)
    return found, found


def _rrelu(
    self: TensorMeta,
    noise: TensorMeta,
    lower: Number = 0.125,
    upper: Number = 1 / 3,
    training: bool = False,
    generator: Any = None,
) -> tuple[TensorMeta, TensorMeta]:
    if not lower <= upper:  # type: ignore[operator]
        raise OperatorError("Lower bound should be less than or equal to the upper bound", argument="lower")
    if training:
        refuse_kinds("rrelu_with_noise_out_cpu", "bic", self.dtype)
        if self.dtype == float16:
            raise UnsupportedError("\"rrelu_with_noise_out_cpu\" not implemented for 'Half'")
    refuse_kinds("leaky_relu_cpu", "bic", self.dtype)
    return elementwise(self), preserve_format(noise)


def _rrelu_backward(
    grad_output: TensorMeta,
    self: TensorMeta,
    noise: TensorMeta,
    lower: Number,
    upper: Number,
    training: bool,
    self_is_result: bool,
) -> TensorMeta:
    return elementwise(noise, grad_output) if training and upper - lower > 1e-6 else elementwise(self, grad_output)  # type: ignore[operator]


def _log_sigmoid_forward(self: TensorMeta) -> tuple[TensorMeta, TensorMeta]:
    refuse_kinds("log_sigmoid_cpu", "bic", self.dtype)
    like = contiguous(self.shape, self.dtype)
    return like, like
