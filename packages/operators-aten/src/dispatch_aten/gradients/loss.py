"""Gradients of softmax and losses."""

from __future__ import annotations

import math

from dispatch_aten.decompositions._shared import Array, aten
from dispatch_core import shape as shape_of

from ._shared import one_minus

__all__ = [
    "bce_with_logits_gradient",
    "bce_with_logits_target_gradient",
    "mse_factor",
    "mse_slope",
    "native_dropout_gradient",
    "softmax_double_backward",
]


def softmax_double_backward(grad: Array, grad_output: Array, output: Array, dim: int) -> Array:
    """Return the gradient that softmax's backward operator sends to softmax's output."""
    total = aten.sum.dim_IntList(aten.mul.Tensor(grad_output, output), [dim], True)
    arrived = aten.sum.dim_IntList(aten.mul.Tensor(grad, output), [dim], True)
    first = aten.mul.Tensor(grad, aten.sub.Tensor(grad_output, total))
    return aten.sub.Tensor(first, aten.mul.Tensor(grad_output, arrived))


def mse_factor(grad: Array, reduction: int) -> float:
    """Return the second derivative of the squared error, divided by the number of elements for a mean."""
    return 2.0 / max(math.prod(shape_of(grad)), 1) if reduction == 1 else 2.0


def mse_slope(grad: Array, self: Array, target: Array, reduction: int) -> Array:
    """Return the derivative of the squared error."""
    return aten.mul.Scalar(aten.sub.Tensor(self, target), mse_factor(grad, reduction))


def _per_element(grad: Array, count: int, reduction: int) -> Array:
    return aten.div.Scalar(grad, max(count, 1)) if reduction == 1 else grad


def bce_with_logits_gradient(
    grad: Array, self: Array, target: Array, weight: Array | None, pos_weight: Array | None, reduction: int
) -> Array:
    """Return the gradient of binary cross entropy with respect to the logits."""
    chance = aten.sigmoid.default(self)
    if pos_weight is None:
        slope = aten.sub.Tensor(chance, target)
    else:
        raised = aten.mul.Tensor(pos_weight, target)
        both = aten.add.Tensor(raised, one_minus(target))
        slope = aten.sub.Tensor(aten.mul.Tensor(both, chance), raised)
    if weight is not None:
        slope = aten.mul.Tensor(slope, weight)
    return aten.mul.Tensor(slope, _per_element(grad, math.prod(shape_of(self)), reduction))


def bce_with_logits_target_gradient(
    grad: Array, self: Array, weight: Array | None, pos_weight: Array | None, reduction: int
) -> Array:
    """Return the gradient of binary cross entropy with respect to the target."""
    slope = aten.neg.default(self)
    if pos_weight is not None:
        slope = aten.sub.Tensor(
            aten.log.default(one_minus(aten.sigmoid.default(self))),
            aten.mul.Tensor(pos_weight, aten.log.default(aten.sigmoid.default(self))),
        )
    if weight is not None:
        slope = aten.mul.Tensor(slope, weight)
    return aten.mul.Tensor(slope, _per_element(grad, math.prod(shape_of(self)), reduction))


def native_dropout_gradient(grad: Array, mask: Array, p: float, train: bool | None) -> Array:
    """Let the gradient through where the elements were kept."""
    if train is False:
        return grad
    return aten.native_dropout_backward.default(grad, mask, 0.0 if p == 1 else 1.0 / (1.0 - p))
