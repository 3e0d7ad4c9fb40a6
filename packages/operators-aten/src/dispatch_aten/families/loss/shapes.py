"""Shape rules of softmax and loss functions and their backward operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatch_aten.dtypes import ScalarType, bool_, float16, float32, int64, uint8
from dispatch_aten.errors import DtypeError, OperatorError, ShapeError
from dispatch_aten.output_dtypes import check_output_dtype
from dispatch_aten.promotion import Promotion
from dispatch_aten.shapes.dims import wrap_dim
from dispatch_aten.shapes.elementwise import elementwise
from dispatch_aten.shapes.layout import broadcast_shapes, check_output_shape, preserve_format
from dispatch_aten.shapes.meta import TensorMeta, contiguous
from dispatch_aten.shapes.refusals import refuse_kinds

if TYPE_CHECKING:
    from collections.abc import Callable


def _softmax(label: str) -> Callable[..., TensorMeta]:
    def rule(self: TensorMeta, dim: int, half_to_float: bool) -> TensorMeta:
        dim = wrap_dim(dim, self.ndim)
        if half_to_float and self.dtype != float16:
            raise DtypeError(f"{label} with half to float conversion is not supported on CPU", argument="half_to_float")
        place = "lastdim_kernel_impl" if dim == max(self.ndim - 1, 0) else "kernel_impl"
        refuse_kinds(f"{label}_{place}", "bic", self.dtype)
        return contiguous(self.shape, float32 if half_to_float else self.dtype)

    return rule


def _softmax_dtype(label: str) -> Callable[..., TensorMeta]:
    kernel = _softmax(label)

    def rule(self: TensorMeta, dim: int, dtype: ScalarType | None = None) -> TensorMeta:
        return kernel(self if dtype is None else self.with_dtype(dtype), dim, False)

    return rule


def _softmax_backward(grad_output: TensorMeta, output: TensorMeta, dim: int, input_dtype: ScalarType) -> TensorMeta:
    wrap_dim(dim, grad_output.ndim)
    if grad_output.shape != output.shape:
        raise ShapeError(
            f"grad and output must have the same sizes, but got {list(grad_output.shape)} and {list(output.shape)}",
            argument="output",
        )
    _check_same_dtype(grad_output, output, "output")
    refuse_kinds("softmax_backward_kernel_impl", "bic", grad_output.dtype)
    return contiguous(grad_output.shape, input_dtype)


def _check_same_dtype(meta: TensorMeta, other: TensorMeta | None, argument: str) -> None:
    if other is not None and other.dtype != meta.dtype:
        raise DtypeError(f"expected scalar type {meta.dtype.name} but found {other.dtype.name}", argument=argument)


def _mend_target(self: TensorMeta, target: TensorMeta) -> str:
    """Return how a target becomes one of class indices, or one of probabilities."""
    if target.dtype.is_floating_point:
        return f"probabilities have the shape of the scores, {list(self.shape)}"
    if target.shape[-1] == 1:
        return f"squeeze({target.ndim - 1}) it"
    return "class indices are one for each row of the scores"


def _check_nll(self: TensorMeta, target: TensorMeta, weight: TensorMeta | None) -> None:
    if not 1 <= self.ndim <= 2:
        raise ShapeError("input tensor should be 1D or 2D", argument="self")
    if target.ndim > 1:
        raise ShapeError(
            "0D or 1D target tensor expected, multi-target not supported",
            argument="target",
            hint=f"the target has shape {list(target.shape)}: {_mend_target(self, target)}",
        )
    if target.dtype not in (int64, uint8):
        raise DtypeError(f"expected target dtype to be Long or Byte, but got {target.dtype.name}", argument="target")
    if self.ndim == 1 and target.ndim == 1 and target.shape[0] != 1:
        raise ShapeError(
            "For 1D input, 1D target must have size 1, but got target size: " + str(target.shape[0]), argument="target"
        )
    if self.ndim == 2 and self.shape[0] != (target.shape[0] if target.shape else 1):
        raise ShapeError(
            f"size mismatch (got input: {list(self.shape)}, target: {list(target.shape)})", argument="target"
        )
    classes = self.shape[-1]
    if weight is not None and (weight.ndim != 1 or weight.numel != classes):
        raise ShapeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of "
            f"shape: {list(weight.shape)}",
            argument="weight",
        )
    refuse_kinds("nll_loss_out_frame", "bic", self.dtype)
    _check_same_dtype(self, weight, "weight")


def _nll_loss_forward(
    self: TensorMeta, target: TensorMeta, weight: TensorMeta | None, reduction: int, ignore_index: int
) -> tuple[TensorMeta, TensorMeta]:
    _check_nll(self, target, weight)
    kept = reduction == 0 and self.ndim == 2
    return contiguous((self.shape[0],) if kept else (), self.dtype), contiguous((), self.dtype)


def _nll_loss_backward(
    grad_output: TensorMeta,
    self: TensorMeta,
    target: TensorMeta,
    weight: TensorMeta | None,
    reduction: int,
    ignore_index: int,
    total_weight: TensorMeta,
) -> TensorMeta:
    _check_nll(self, target, weight)
    _check_same_dtype(self, grad_output, "grad_output")
    rows = self.shape[:1] if reduction == 0 and self.ndim == 2 else ()
    if grad_output.shape != rows if rows else grad_output.numel != 1 or grad_output.ndim > 1:
        raise ShapeError(
            f"Expected a gradient of shape {list(rows)}, but got: {list(grad_output.shape)}", argument="grad_output"
        )
    if total_weight.numel != 1:
        raise ShapeError(
            f"expected total_weight to be a single element tensor, got: {list(total_weight.shape)}",
            argument="total_weight",
        )
    return contiguous(self.shape, self.dtype)


def _mse_loss(self: TensorMeta, target: TensorMeta, reduction: int = 1) -> TensorMeta:
    full = elementwise(self, target)
    refuse_kinds("mse_cpu", "bic", full.dtype)
    return full if reduction == 0 else contiguous((), full.dtype)


def _mse_loss_backward(grad_output: TensorMeta, self: TensorMeta, target: TensorMeta, reduction: int) -> TensorMeta:
    found = elementwise(self, target, grad_output)
    refuse_kinds("mse_backward_cpu_out", "bic", found.dtype)
    check_output_dtype(found.dtype, self.dtype)
    return contiguous(found.shape, found.dtype)


def _smooth_l1_loss_backward(
    grad_output: TensorMeta, self: TensorMeta, target: TensorMeta, reduction: int, beta: float
) -> TensorMeta:
    found = elementwise(self, target, grad_output)
    refuse_kinds("smooth_l1_backward_cpu_out", "bic", found.dtype)
    check_output_dtype(found.dtype, self.dtype)
    return contiguous(found.shape, self.dtype)


def _bce_with_logits(
    self: TensorMeta,
    target: TensorMeta,
    weight: TensorMeta | None = None,
    pos_weight: TensorMeta | None = None,
    reduction: int = 1,
) -> TensorMeta:
    tensors = [each for each in (self, target, weight, pos_weight) if each is not None]
    full = elementwise(*tensors)
    refuse_kinds("log_sigmoid_cpu", "bic", self.dtype)
    # torch computes in place: the loss where the target's complement was, the weighted sigmoids where they were.
    check_output_shape(full.shape, target.shape, "target")
    check_output_dtype(full.dtype, target.dtype)
    if pos_weight is not None:
        weighted = elementwise(self, target, pos_weight)
        check_output_shape(weighted.shape, self.shape)
        check_output_dtype(weighted.dtype, self.dtype)
    if reduction != 0:
        return contiguous((), full.dtype)
    return TensorMeta(full.shape, preserve_format(target).strides, full.dtype)


def _reduce(full: TensorMeta, reduction: int, dtype: ScalarType) -> TensorMeta:
    return full.with_dtype(dtype) if reduction == 0 else contiguous((), dtype)


def _binary_cross_entropy(
    self: TensorMeta, target: TensorMeta, weight: TensorMeta | None = None, reduction: int = 1
) -> TensorMeta:
    if target.dtype != self.dtype:
        raise DtypeError(f"Found dtype {target.dtype.name} but expected {self.dtype.name}", argument="target")
    refuse_kinds("binary_cross_entropy", "bic", self.dtype)
    full = elementwise(self, target)
    if weight is not None:
        check_output_shape(elementwise(full, weight).shape, full.shape)
    return _reduce(full, reduction, self.dtype)


def _smooth_l1_loss(self: TensorMeta, target: TensorMeta, reduction: int = 1, beta: float = 1.0) -> TensorMeta:
    if beta < 0:
        raise OperatorError("smooth_l1_loss does not support negative values for beta.", argument="beta")
    full = elementwise(self, target)
    refuse_kinds("smooth_l1_cpu", "bic", full.dtype)
    return _reduce(full, reduction, full.dtype)


def _huber_loss(self: TensorMeta, target: TensorMeta, reduction: int = 1, delta: float = 1.0) -> TensorMeta:
    if not delta > 0:
        raise OperatorError("huber_loss does not support non-positive values for delta.", argument="delta")
    full = elementwise(self, target)
    check_output_dtype(full.dtype, self.dtype)
    refuse_kinds("huber_cpu", "bic", full.dtype)
    return _reduce(full, reduction, self.dtype)


def _soft_margin_loss(self: TensorMeta, target: TensorMeta, reduction: int = 1) -> TensorMeta:
    if bool_ in (self.dtype, target.dtype):
        raise OperatorError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the "
            "`~` or `logical_not()` operator instead.",
            argument="target",
        )
    full = elementwise(elementwise(target, self), promotion=Promotion.INT_TO_FLOAT)
    check_output_dtype(full.dtype, self.dtype)
    return _reduce(full, reduction, self.dtype)


def _euclidean_dist(x1: TensorMeta, x2: TensorMeta) -> TensorMeta:
    _check_same_dtype(x1, x2, "x2")
    batch = broadcast_shapes(x1.shape[:-2], x2.shape[:-2], argument="x2")
    return contiguous((*batch, x1.shape[-2], x2.shape[-2]), x1.dtype)
