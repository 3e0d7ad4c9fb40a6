"""Gradients of activations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dispatch_aten.decompositions._shared import Array, aten

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["hardswish_double_backward", "prelu_double_backward"]


def hardswish_double_backward(grad: Array, self: Array) -> Array:
    """Return the gradient of hardswish's gradient, which is a line between -3 and 3."""
    inside = aten.logical_and.default(aten.gt.Scalar(self, -3), aten.lt.Scalar(self, 3))
    return aten.where.ScalarOther(inside, aten.div.Scalar(grad, 3), 0)


def prelu_double_backward(wanted: str, grads: Sequence[Any], grad_output: Array, self: Array, weight: Array) -> Any:
    """Return the gradient that prelu's backward operator sends to one of its arguments."""
    to_self, to_weight = grads
    positive = aten.ge.Scalar(self, 0)
    if wanted == "grad_output":
        parts = []
        if to_self is not None:
            parts.append(aten.where.self(positive, to_self, aten.mul.Tensor(weight, to_self)))
        if to_weight is not None:
            parts.append(aten.where.ScalarSelf(positive, 0, aten.mul.Tensor(self, to_weight)))
        return aten.add.Tensor(*parts) if len(parts) == 2 else parts[0]
    grad = to_weight if wanted == "self" else to_self
    return None if grad is None else aten.where.ScalarSelf(positive, 0, aten.mul.Tensor(grad_output, grad))
