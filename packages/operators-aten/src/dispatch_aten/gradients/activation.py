"""Gradients of activations."""

from __future__ import annotations

from dispatch_aten.decompositions._shared import Array, aten

__all__ = ["hardswish_double_backward"]


def hardswish_double_backward(grad: Array, self: Array) -> Array:
    """Return the gradient of hardswish's gradient, which is a line between -3 and 3."""
    inside = aten.logical_and.default(aten.gt.Scalar(self, -3), aten.lt.Scalar(self, 3))
    return aten.where.ScalarOther(inside, aten.div.Scalar(grad, 3), 0)
