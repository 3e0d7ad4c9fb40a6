"""Functions of the formulas of special functions."""

from __future__ import annotations

import math

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, aten
from dispatch_aten.gradients._shared import one_minus

__all__ = [
    "bessel_slope",
    "entropy_slope",
    "gamma_density",
    "log_normal_slope",
    "logit_gradient",
    "sinc_slope",
    "x_log_gradient",
]


def gamma_density(self: Array, other: Array) -> Array:
    """Return the density of the gamma distribution of shape ``self`` at ``other``."""
    power = aten.mul.Tensor(aten.sub.Scalar(self, 1), aten.log.default(other))
    return aten.exp.default(aten.sub.Tensor(aten.sub.Tensor(power, other), aten.lgamma.default(self)))


def logit_gradient(grad: Array, self: Array, eps: float | None) -> Array:
    """Return the gradient of ``logit``; beyond the bounds that ``eps`` sets it is 0, and without ``eps`` nan."""
    slope = aten.div.Tensor(grad, aten.mul.Tensor(self, one_minus(self)))
    low, high = (0.0, 1.0) if eps is None else (eps, 1 - eps)
    inside = aten.logical_and.default(aten.ge.Scalar(self, low), aten.le.Scalar(self, high))
    return aten.where.ScalarOther(inside, slope, math.nan if eps is None else 0.0)


def sinc_slope(self: Array) -> Array:
    """Return the derivative of ``sinc``, 0 at 0."""
    angle = aten.mul.Scalar(self, math.pi)
    over = aten.sub.Tensor(aten.mul.Tensor(angle, aten.cos.default(angle)), aten.sin.default(angle))
    slope = aten.div.Tensor(over, aten.mul.Tensor(angle, self))
    return aten.masked_fill.Scalar(slope, aten.eq.Scalar(self, 0), 0)


def entropy_slope(self: Array) -> Array:
    """Return the derivative of ``-x log(x)``."""
    slope = aten.sub.Scalar(aten.neg.default(aten.log.default(self)), 1)
    return aten.where.self(aten.isnan.default(self), self, slope)


def bessel_slope(self: Array, result: Array, scaled: bool) -> Array:
    """Return the derivative of the modified Bessel function of order 1, or of the scaled one."""
    tiny = aten.le.Scalar(aten.abs.default(self), 2.0**-23 if dc.dtype(self).itemsize < 8 else 2.0**-52)
    safe = aten.masked_fill.Scalar(self, tiny, 1)
    order0 = aten.special_i0e.default(safe) if scaled else aten.i0.default(safe)
    factor = aten.reciprocal.default(safe)
    if scaled:
        factor = aten.add.Tensor(aten.sgn.default(safe), factor)
    slope = aten.sub.Tensor(order0, aten.mul.Tensor(result, factor))
    return aten.where.ScalarOther(aten.logical_not.default(tiny), slope, 0.5)


def log_normal_slope(self: Array) -> Array:
    """Return the derivative of the logarithm of the normal distribution function."""
    # Above the limit erfcx, about 2 exp(x**2 / 2), is infinite, and the slope zero.
    limit = 37.0 if dc.dtype(self).itemsize > 4 else 13.0
    flat = aten.gt.Scalar(self, limit)
    scaled = aten.special_erfcx.default(aten.mul.Scalar(aten.masked_fill.Scalar(self, flat, 0), -math.sqrt(0.5)))
    return aten.masked_fill.Scalar(aten.mul.Scalar(aten.reciprocal.default(scaled), math.sqrt(2 / math.pi)), flat, 0)


def x_log_gradient(product: Array, self: Array, other: Array, edge: float) -> Array:
    """Return the factor's gradient in ``x log(y)``, 0 where the factor is 0 and the logarithm not finite."""
    zero = aten.eq.Scalar(self, 0)
    outside = aten.le.Scalar(other, edge)
    return aten.where.ScalarSelf(aten.logical_and.default(zero, outside), 0, product)
