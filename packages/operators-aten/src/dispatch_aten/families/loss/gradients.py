"""Gradients of softmax and losses."""

from __future__ import annotations

import math

from dispatch_aten.decompositions._shared import Array, aten, subtract
from dispatch_aten.gradients._shared import divide_or_zero, one_minus
from dispatch_core import shape as shape_of

__all__ = [
    "bce_gradient",
    "bce_target_gradient",
    "bce_with_logits_gradient",
    "bce_with_logits_target_gradient",
    "euclidean_gradient",
    "huber_gradient",
    "mse_factor",
    "mse_slope",
    "native_dropout_gradient",
    "smooth_l1_bend",
    "soft_margin_gradient",
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
    return aten.mul.Scalar(subtract(self, target), mse_factor(grad, reduction))


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
    """Pass the gradient on where the elements were kept."""
    if train is False:
        return grad
    return aten.native_dropout_backward.default(grad, mask, 0.0 if p == 1 else 1.0 / (1.0 - p))


def _split_gradient(grad: Array, self: Array, target: Array, reduction: int) -> tuple[Array, Array]:
    """Return the gradient of each element's loss, and the difference of input and target."""
    away = subtract(self, target)
    return _per_element(grad, math.prod(shape_of(away)), reduction), away


def _bend(grad: Array, away: Array, bound: float, outer: float, inner: float) -> Array:
    """Return ``grad`` times a slope: ``inner * away`` up to ``bound``, beyond it ``outer`` with the sign of ``away``."""
    near = aten.lt.Scalar(aten.abs.default(away), bound)
    steep = aten.mul.Scalar(aten.mul.Tensor(grad, aten.sign.default(away)), outer)
    return aten.where.self(near, aten.mul.Scalar(aten.mul.Tensor(grad, away), inner), steep)


def smooth_l1_bend(grad: Array, self: Array, target: Array, reduction: int, beta: float) -> Array:
    """Return ``grad`` times the second derivative of the smooth absolute difference."""
    grad, away = _split_gradient(grad, self, target, reduction)
    near = aten.lt.Scalar(aten.abs.default(away), beta)
    return aten.where.ScalarOther(near, aten.div.Scalar(grad, beta) if beta else grad, 0.0)


def huber_gradient(grad: Array, self: Array, target: Array, reduction: int, delta: float) -> Array:
    """Return the gradient of the Huber loss."""
    grad, away = _split_gradient(grad, self, target, reduction)
    return _bend(grad, away, delta, delta, 1.0)


def soft_margin_gradient(grad: Array, self: Array, target: Array, reduction: int) -> Array:
    """Return the gradient of the soft margin loss."""
    minus = aten.neg.default(target)
    slope = aten.mul.Tensor(minus, aten.sigmoid.default(aten.mul.Tensor(minus, self)))
    return aten.mul.Tensor(slope, _per_element(grad, math.prod(shape_of(slope)), reduction))


def bce_gradient(grad: Array, self: Array, target: Array, weight: Array | None, reduction: int) -> Array:
    """Return the gradient of binary cross entropy with respect to the probabilities."""
    spread = aten.mul.Tensor(one_minus(self), self)
    # Where the divisor is bounded, the loss is, too: its slope does not change.
    moved = aten.where.self(aten.lt.Scalar(spread, 1e-12), aten.detach.default(self), self)
    slope = aten.div.Tensor(aten.sub.Tensor(moved, target), aten.clamp_min.default(spread, 1e-12))
    if weight is not None:
        slope = aten.mul.Tensor(slope, weight)
    return aten.mul.Tensor(slope, _per_element(grad, math.prod(shape_of(self)), reduction))


def bce_target_gradient(grad: Array, self: Array, weight: Array | None, reduction: int) -> Array:
    """Return the gradient of binary cross entropy with respect to the targets."""
    slope = aten.sub.Tensor(aten.log1p.default(aten.neg.default(self)), aten.log.default(self))
    if weight is not None:
        slope = aten.mul.Tensor(slope, weight)
    return aten.mul.Tensor(slope, _per_element(grad, math.prod(shape_of(self)), reduction))


def euclidean_gradient(grad: Array, self: Array, other: Array, result: Array) -> Array:
    """Return the gradient of the distances between the rows of two matrices; where one is zero, zero."""
    share = divide_or_zero(grad, result)
    total = aten.sum.dim_IntList(share, [-1], True)
    return aten.sub.Tensor(aten.mul.Tensor(self, total), aten.matmul.default(share, other))
