"""Functions of the formulas of complex numbers."""

from __future__ import annotations

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, aten
from dispatch_aten.gradients._shared import conjugate, divide_or_zero

__all__ = ["angle_gradient", "imaginary_part", "real_part", "sgn_gradient"]


def angle_gradient(grad: Array, self: Array) -> Array:
    """Return the gradient of the angle: at a right angle to the number, and shorter the larger it is."""
    if not dc.dtype(self).is_complex:
        return aten.zeros_like.default(self)
    real, imag = aten.real.default(self), aten.imag.default(self)
    size = aten.add.Tensor(aten.square.default(real), aten.square.default(imag))
    slope = divide_or_zero(grad, size)
    return aten.complex.default(aten.neg.default(aten.mul.Tensor(slope, imag)), aten.mul.Tensor(slope, real))


def real_part(grad: Array) -> Array:
    """Return the real parts."""
    return aten.real.default(grad)


def imaginary_part(grad: Array) -> Array:
    """Return the imaginary parts."""
    return aten.imag.default(grad)


def sgn_gradient(grad: Array, self: Array, result: Array) -> Array:
    """Return the part of the gradient across the number's direction, divided by its absolute value."""
    if not dc.dtype(self).is_complex:
        return aten.zeros_like.default(grad)
    grad = conjugate(grad)
    size = aten.abs.default(self)
    along = aten.mul.Tensor(aten.real.default(aten.mul.Tensor(grad, conjugate(result))), result)
    return conjugate(divide_or_zero(aten.sub.Tensor(grad, along), size))
