"""Gradients of element-wise operators and activations."""

from __future__ import annotations

import cmath
import math
from typing import TYPE_CHECKING

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, aten, maybe_multiply
from dispatch_aten.gradients._shared import one_minus

if TYPE_CHECKING:
    from dispatch_aten.promotion import Number

__all__ = [
    "acosh_slope",
    "clamp_gradient",
    "clamp_max_gradient",
    "clamp_min_gradient",
    "copysign_gradient",
    "div_mode_gradient",
    "div_mode_other_gradient",
    "elu_double_backward",
    "floor_of_ratio",
    "gelu_double_backward",
    "halve_where",
    "or_nan",
    "pow_exponent_gradient",
    "pow_gradient",
    "silu_double_backward",
    "softplus_double_backward",
    "squared_radius",
]


def acosh_slope(self: Array) -> Array:
    """Return ``1 / sqrt(self**2 - 1)``, of complex numbers on the branch where acosh lies."""
    if not dc.dtype(self).is_complex:
        return aten.rsqrt.default(aten.sub.Scalar(aten.square.default(self), 1))
    roots = (aten.rsqrt.default(aten.add.Scalar(self, shift)) for shift in (1, -1))
    return aten.mul.Tensor(*roots)


def halve_where(grad: Array, tie: Array) -> Array:
    """Return half of the gradient where two operands tie."""
    return aten.where.self(tie, aten.mul.Scalar(grad, 0.5), grad)


def _compare(name: str, self: Array, other: Array | Number) -> Array:
    packet = getattr(aten, name)
    return packet.Scalar(self, other) if isinstance(other, (bool, int, float)) else packet.Tensor(self, other)


def copysign_gradient(grad: Array, self: Array, result: Array) -> Array:
    """Return the gradient with the other sign where the sign was changed, and 0 at 0."""
    ratio = aten.div.Tensor(result, self)
    return aten.mul.Tensor(grad, aten.masked_fill.Scalar(ratio, aten.eq.Scalar(self, 0), 0))


def or_nan(truth: Array, other: Array) -> Array:
    """Return where ``truth`` holds, or ``other`` is nan."""
    return aten.logical_or.default(truth, aten.isnan.default(other))


def clamp_gradient(grad: Array, self: Array, low: Array | Number | None, high: Array | Number | None) -> Array:
    """Pass the gradient on where ``self`` was within its bounds."""
    inside = None
    for name, bound in (("ge", low), ("le", high)):
        if bound is not None:
            here = _compare(name, self, bound)
            inside = here if inside is None else aten.logical_and.default(inside, here)
    return grad if inside is None else aten.where.ScalarOther(inside, grad, 0)


def clamp_min_gradient(grad: Array, self: Array, low: Array, high: Array | None) -> Array:
    """Pass the gradient on to the lower bound where it was the answer."""
    taken = aten.lt.Tensor(self, low)
    if high is not None:
        taken = aten.logical_and.default(taken, aten.lt.Tensor(low, high))
    return aten.where.ScalarOther(taken, grad, 0)


def clamp_max_gradient(grad: Array, self: Array, low: Array | None, high: Array) -> Array:
    """Pass the gradient on to the upper bound where it was the answer."""
    taken = aten.gt.Tensor(self, high)
    if low is not None:
        taken = aten.logical_or.default(taken, aten.lt.Tensor(high, low))
    return aten.where.ScalarOther(taken, grad, 0)


def div_mode_gradient(grad: Array, other: Array | Number, rounding_mode: str | None) -> Array:
    """Return the dividend's gradient: zero where the quotient is rounded."""
    return aten.zeros_like.default(grad) if rounding_mode else aten.div(grad, other)


def div_mode_other_gradient(grad: Array, self: Array, other: Array, rounding_mode: str | None) -> Array:
    """Return the divisor's gradient: zero where the quotient is rounded."""
    if rounding_mode:
        return aten.zeros_like.default(grad)
    return aten.neg.default(aten.mul.Tensor(grad, aten.div.Tensor(aten.div.Tensor(self, other), other)))


def floor_of_ratio(self: Number, other: Array) -> Array:
    """Return ``floor(self / other)`` for a number ``self``."""
    return aten.floor.default(aten.mul.Scalar(aten.reciprocal.default(other), self))


def pow_gradient(grad: Array, self: Array, exponent: Array | Number) -> Array:
    """Return the base's gradient; zero for a zero exponent, also at zero, where the power rule has none."""
    if isinstance(exponent, (bool, int, float, complex)):
        if exponent == 0:
            return aten.zeros_like.default(grad)
        power = self if exponent == 2 else aten.pow.Tensor_Scalar(self, exponent - 1)
        return aten.mul.Tensor(grad, maybe_multiply(power, exponent))
    flat = aten.eq.Scalar(exponent, 0)
    base = aten.where.ScalarSelf(aten.logical_and.default(flat, aten.eq.Scalar(self, 0)), 1, self)
    slope = aten.mul.Tensor(exponent, aten.pow.Tensor_Tensor(base, aten.sub.Scalar(exponent, 1)))
    return aten.mul.Tensor(grad, aten.where.ScalarSelf(flat, 0, slope))


def pow_exponent_gradient(grad: Array, self: Array | Number, exponent: Array, result: Array) -> Array:
    """Return the exponent's gradient; zero where base and exponent leave the power at zero.

    A factor that is replaced there keeps infinities out of further derivatives, which a mask of the product would not.
    """
    if isinstance(self, (bool, int, float, complex)):
        if self == 0:
            steep = aten.where.ScalarSelf(_not_negative(exponent), 0, aten.full_like.default(result, -math.inf))
            return aten.mul.Tensor(grad, aten.mul.Tensor(result, steep))
        slope: Number
        if isinstance(self, complex) or dc.dtype(result).is_complex:
            slope = cmath.log(self)
        else:
            slope = math.log(self) if self > 0 else math.nan
        return aten.mul.Tensor(grad, aten.mul.Scalar(result, slope))
    flat = aten.logical_and.default(aten.eq.Scalar(self, 0), _not_negative(exponent))
    base = aten.where.ScalarSelf(flat, 1, self)
    if dc.dtype(result).is_complex:  # a negative base that is real has a logarithm there
        base = aten._to_copy.default(base, dtype=dc.dtype(result))
    return aten.mul.Tensor(grad, aten.mul.Tensor(result, aten.log.default(base)))


def _not_negative(self: Array) -> Array:
    """Return which elements are real numbers and not below zero."""
    dtype = dc.dtype(self)
    if not dtype.is_complex:
        return aten.ge.Scalar(self, 0)
    real = aten._to_copy.default(self, dtype=dtype.to_real())
    return aten.logical_and.default(aten.eq.Tensor(self, real), aten.ge.Scalar(real, 0))


def softplus_double_backward(grad: Array, self: Array, beta: Number, threshold: Number) -> Array:
    """Return the gradient of softplus's gradient."""
    steep = aten.mul.Scalar(self, beta)
    bent = maybe_multiply(aten.sigmoid_backward.default(grad, aten.sigmoid.default(steep)), beta)
    return aten.where.ScalarSelf(aten.gt.Scalar(steep, threshold), 0, bent)


def elu_double_backward(
    grad: Array, alpha: Number, scale: Number, input_scale: Number, is_result: bool, self_or_result: Array
) -> Array:
    """Return the gradient of elu's gradient."""
    if is_result:
        bent = maybe_multiply(grad, input_scale)
    else:
        grown = aten.exp.default(maybe_multiply(self_or_result, input_scale))
        bent = aten.mul.Tensor(grad, maybe_multiply(grown, alpha * scale * input_scale * input_scale))
    return aten.where.ScalarOther(aten.lt.Scalar(self_or_result, 0), bent, 0)


def silu_double_backward(grad: Array, self: Array) -> Array:
    """Return the gradient of silu's gradient."""
    gate = aten.sigmoid.default(self)
    bend = aten.add.Scalar(aten.mul.Tensor(self, one_minus(maybe_multiply(gate, 2))), 2)
    return aten.mul.Tensor(grad, aten.mul.Tensor(aten.mul.Tensor(gate, one_minus(gate)), bend))


def gelu_double_backward(grad: Array, self: Array, approximate: str) -> Array:
    """Return the gradient of gelu's gradient."""
    squared = aten.mul.Tensor(self, self)
    if approximate == "none":
        density = maybe_multiply(aten.exp.default(maybe_multiply(squared, -0.5)), 1.0 / math.sqrt(2.0 * math.pi))
        return aten.mul.Tensor(grad, aten.mul.Tensor(density, aten.rsub.Scalar(squared, 2)))
    scale, cubic = math.sqrt(2.0 / math.pi), 0.044715
    bent = aten.tanh.default(
        maybe_multiply(aten.mul.Tensor(self, aten.add.Scalar(maybe_multiply(squared, cubic), 1)), scale)
    )
    slope = one_minus(aten.mul.Tensor(bent, bent))
    rise = maybe_multiply(aten.add.Scalar(maybe_multiply(squared, 3 * cubic), 1), scale)
    curve = aten.sub.Tensor(
        maybe_multiply(self, 6 * cubic * scale), maybe_multiply(aten.mul.Tensor(bent, aten.mul.Tensor(rise, rise)), 2)
    )
    second = aten.mul.Tensor(slope, aten.add.Tensor(rise, maybe_multiply(aten.mul.Tensor(self, curve), 0.5)))
    return aten.mul.Tensor(grad, second)


def squared_radius(self: Array, other: Array) -> Array:
    """Return ``self**2 + other**2``, and infinity at the origin, where a quotient by it shall be 0, as in torch."""
    total = aten.add.Tensor(aten.square.default(self), aten.square.default(other))
    return aten.masked_fill.Scalar(total, aten.eq.Scalar(total, 0), math.inf)
