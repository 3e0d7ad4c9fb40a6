"""Element-wise operators in terms of simpler ones, for backends without kernels of their own."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import dispatch_core as dc
from dispatch_aten.decompositions._shared import (
    Array,
    aten,
    cast,
    cast_to_floating,
    common_dtype,
    is_array,
    meta_of,
    truncate_for,
)
from dispatch_aten.dtypes import bool_, complex128, float64
from dispatch_aten.errors import OperatorError, UnsupportedError
from dispatch_aten.output_dtypes import check_output_dtype
from dispatch_aten.promotion import Number
from dispatch_aten.shapes import RULES
from dispatch_aten.shapes.layout import check_output_shape
from dispatch_aten.shapes.refusals import GREATEST

if TYPE_CHECKING:
    from collections.abc import Callable

_LN2: Final = math.log(2.0)
_LN10: Final = math.log(10.0)


def _of_floats(function: Callable[..., Array]) -> Callable[..., Array]:
    def kernel(self: Array, *args: Any, **kwargs: Any) -> Array:
        return function(cast_to_floating(self), *args, **kwargs)

    return kernel


def _expm1(self: Array) -> Array:
    self = cast_to_floating(self)
    grown = aten.exp.default(self)
    plain = aten.sub.Scalar(grown, 1)
    if dc.dtype(self).is_complex:
        return plain
    # The digits that the difference has lost come back by the quotient of the exponent and its rounded one (W. Kahan).
    return _near_zero(self, aten.mul.Tensor(plain, aten.div.Tensor(self, aten.log.default(grown))), plain)


def _log1p(self: Array) -> Array:
    moved = aten.add.Scalar(self, 1)
    plain = aten.log.default(moved)
    if dc.dtype(self).is_complex:
        return plain
    return _near_zero(self, aten.mul.Tensor(plain, aten.div.Tensor(self, aten.sub.Scalar(moved, 1))), plain)


def _near_zero(self: Array, exact: Array, plain: Array) -> Array:
    """Return ``exact`` up to a half on both sides of zero, or ``self`` where that is nan, and ``plain`` elsewhere."""
    found = aten.where.self(aten.le.Tensor(exact, exact), exact, self)
    return aten.where.self(aten.le.Scalar(aten.mul.Tensor(self, self), 0.25), found, plain)


def _abs(self: Array) -> Array:
    if dc.dtype(self).is_complex:
        return aten.hypot.default(aten.real.default(self), aten.imag.default(self))
    # Zero less the number, not its opposite, so that -0.0 becomes 0.0.
    return aten.where.self(aten.le.Scalar(self, 0), aten.rsub.Scalar(self, 0), self)


def _not(truth: Array) -> Array:
    return aten.le.Tensor(truth, aten.new_zeros.default(truth, ()))


def _imag(self: Array) -> Array:
    return aten.imag.default(self) if dc.dtype(self).is_complex else aten.zeros_like.default(self)


def _eq(self: Array, other: Array) -> Array:
    if dc.dtype(self).is_complex or dc.dtype(other).is_complex:
        real = aten.eq.Tensor(aten.real.default(self), aten.real.default(other))
        return aten.mul.Tensor(real, aten.eq.Tensor(_imag(self), _imag(other)))
    return aten.mul.Tensor(aten.le.Tensor(self, other), aten.le.Tensor(other, self))


def _lt(self: Array, other: Array) -> Array:
    # Not simply "no less or equal the other way round", which holds for nan.
    return aten.mul.Tensor(aten.le.Tensor(self, other), _not(aten.le.Tensor(other, self)))


def _larger(largest: bool) -> Callable[..., Array]:
    """Make ``maximum`` or ``minimum``, which are nan where either operand is nan."""

    def kernel(self: Array, other: Array) -> Array:
        dtype = common_dtype(self, other)
        self, other = cast(self, dtype), cast(other, dtype)
        first, second = (self, other) if largest else (other, self)
        takes_other = aten.le.Tensor(first, second)
        if dtype.is_differentiable:
            takes_other = aten.logical_or.default(takes_other, aten.isnan.default(other))
        return aten.where.self(takes_other, other, self)

    return kernel


def _sign(self: Array) -> Array:
    zero = aten.zeros_like.default(self)
    above, below = aten.gt.Tensor(self, zero), aten.lt.Tensor(self, zero)
    if dc.dtype(self) == bool_:
        return above
    dtype = dc.dtype(self)
    return aten.sub.Tensor(cast(above, dtype), cast(below, dtype))


def _isinf(self: Array) -> Array:
    if not dc.dtype(self).is_differentiable:
        return aten.zeros_like.default(self, dtype=bool_)
    return aten.eq.Scalar(aten.abs.default(self), math.inf)


def _isfinite(self: Array) -> Array:
    if not dc.dtype(self).is_differentiable:
        return aten.ones_like.default(self, dtype=bool_)
    return aten.mul.Tensor(aten.eq.Tensor(self, self), aten.ne.Scalar(aten.abs.default(self), math.inf))


def _nan_to_num(
    self: Array, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Array:
    dtype = dc.dtype(self)
    if not dtype.is_differentiable:
        return aten.clone.default(self)
    if dtype.is_complex:
        raise UnsupportedError(f"\"nan_to_num\" not implemented for '{dtype.name}'", operator="aten::nan_to_num")
    most = GREATEST[dtype]
    result = aten.where.ScalarSelf(aten.isnan.default(self), 0.0 if nan is None else nan, self)
    result = aten.where.ScalarSelf(aten.eq.Scalar(self, math.inf), most if posinf is None else posinf, result)
    return aten.where.ScalarSelf(aten.eq.Scalar(self, -math.inf), -most if neginf is None else neginf, result)


def _masked_fill(self: Array, mask: Array, value: Array) -> Array:
    RULES["masked_fill.Tensor"](meta_of(self), meta_of(mask), meta_of(value))
    return aten.contiguous.default(aten.where.self(mask, cast(value, dc.dtype(self)), self))


def _clamp_tensor(self: Array, min: Array | None = None, max: Array | None = None) -> Array:
    dtype = common_dtype(self, *(bound for bound in (min, max) if bound is not None))
    result = cast(self, dtype)
    if min is not None:
        result = aten.maximum.default(result, min)
    if max is not None:
        result = aten.minimum.default(result, max)
    return result


def _div_mode(self: Array, other: Array, *, rounding_mode: str | None) -> Array:
    if rounding_mode is None:
        return aten.div.Tensor(self, other)
    if rounding_mode == "floor":
        return aten.floor_divide.default(self, other)
    dtype = common_dtype(self, other)
    return cast(aten.trunc.default(aten.div.Tensor(self, other)), dtype)


def _logical(name: str) -> Callable[..., Array]:
    def kernel(self: Array, other: Array) -> Array:
        return getattr(aten, name).Tensor(_truth(self), _truth(other))

    return kernel


def _truth(self: Array) -> Array:
    return self if dc.dtype(self) == bool_ else aten.ne.Scalar(self, 0)


def _round_decimals(self: Array, *, decimals: int) -> Array:
    if decimals == 0:
        return aten.round.default(self)
    factor = 10.0 ** abs(decimals)
    if decimals > 0:
        return aten.div.Scalar(aten.round.default(aten.mul.Scalar(self, factor)), factor)
    return aten.mul.Scalar(aten.round.default(aten.div.Scalar(self, factor)), factor)


def _isreal(self: Array) -> Array:
    if dc.dtype(self).is_complex:
        return aten.eq.Scalar(aten.imag.default(self), 0)
    return aten.ones_like.default(self, dtype=bool_)


def _is_infinity(infinity: float) -> Callable[[Array], Array]:
    def kernel(self: Array) -> Array:
        if not dc.dtype(self).is_floating_point:
            return aten.zeros_like.default(self, dtype=bool_)
        return aten.eq.Scalar(self, infinity)

    return kernel


def _signbit(self: Array) -> Array:
    if not dc.dtype(self).is_floating_point:
        return aten.lt.Scalar(self, 0)
    # Of the two zeros, which are equal, only the reciprocals differ.
    below = aten.lt.Scalar(aten.reciprocal.default(self), 0)
    return aten.where.self(aten.eq.Scalar(self, 0), below, aten.lt.Scalar(self, 0))


def _copysign(self: Array, other: Array) -> Array:
    size = aten.abs.default(cast_to_floating(cast(self, common_dtype(self, other))))
    return aten.where.self(aten.signbit.default(other), aten.neg.default(size), size)


def _addcmul(self: Array, tensor1: Array, tensor2: Array, *, value: Number = 1) -> Array:
    product = aten.mul.Tensor(tensor1, tensor2)
    return aten.add.Tensor(self, product, alpha=truncate_for(common_dtype(self, product), value))


def _ignoring_nan(extremum: str) -> Callable[[Array, Array], Array]:
    is_first = "ge" if extremum == "maximum" else "le"

    def kernel(self: Array, other: Array) -> Array:
        dtype = common_dtype(self, other)
        self, other = cast(self, dtype), cast(other, dtype)
        if not dtype.is_floating_point:
            return getattr(aten, extremum).default(self, other)
        # Of two equal numbers the first, whose zero may have the other sign.
        takes_first = getattr(aten, is_first).Tensor(self, other)
        return aten.where.self(aten.logical_or.default(takes_first, aten.isnan.default(other)), self, other)

    return kernel


def _hypot(self: Array, other: Array) -> Array:
    self, other = aten.abs.default(self), aten.abs.default(other)
    large, small = aten.maximum.default(self, other), aten.minimum.default(self, other)
    ratio = aten.div.Tensor(small, aten.where.ScalarSelf(aten.eq.Scalar(large, 0), 1, large))
    found = aten.mul.Tensor(large, aten.sqrt.default(aten.add.Scalar(aten.square.default(ratio), 1)))
    # An infinity wins over nan.
    is_infinite = aten.logical_or.default(aten.eq.Scalar(self, math.inf), aten.eq.Scalar(other, math.inf))
    return aten.where.ScalarSelf(is_infinite, math.inf, found)


def _log_add_exp(exp: str, scale: float) -> Callable[[Array, Array], Array]:
    def kernel(self: Array, other: Array) -> Array:
        top = aten.maximum.default(self, other)
        gap = aten.neg.default(aten.abs.default(aten.sub.Tensor(self, other)))
        rest = aten.log1p.default(getattr(aten, exp).default(gap))
        found = aten.add.Tensor(top, aten.mul.Scalar(rest, scale))
        equal = aten.logical_and.default(aten.isinf.default(self), aten.eq.Tensor(self, other))
        return aten.where.self(equal, self, found)

    return kernel


def _ldexp(self: Array, other: Array) -> Array:
    if dc.dtype(self).is_floating_point and dc.dtype(other) == bool_:
        raise UnsupportedError("\"ldexp_cpu_exp\" not implemented for 'Bool'", operator="aten::ldexp", argument="other")
    return aten.mul.Tensor(self, aten.pow.Scalar(2.0, other))


def _ldexp_inplace(self: Array, other: Array) -> Array:
    """Write the product, of which torch checks no overlap with ``other``."""
    found = aten.ldexp.Tensor(aten.clone.default(self), other)
    check_output_dtype(dc.dtype(found), dc.dtype(self))
    check_output_shape(dc.shape(found), dc.shape(self))
    return aten.copy_.default(self, found)


def _multiply_by(factor: float) -> Callable[[Array], Array]:
    return lambda self: aten.mul.Scalar(cast_to_floating(self), factor)


def _float_power(self: Array | Number, exponent: Array | Number) -> Array:
    """Raise in double precision, of complex numbers where either is complex."""
    operands: list[Any] = [self, exponent]
    if any(isinstance(each, complex) or (is_array(each) and dc.dtype(each).is_complex) for each in operands):
        return aten.pow(*(cast(each, complex128) if is_array(each) else complex(each) for each in operands))
    return aten.pow(*(cast(each, float64) if is_array(each) else float(each) for each in operands))


def _float_power_inplace(self: Array, exponent: Array | Number) -> Array:
    found = _float_power(aten.clone.default(self), exponent)
    if dc.dtype(found) != dc.dtype(self):
        raise OperatorError(
            f"the base given to float_power_ has dtype {dc.dtype(self).name} but the operation's result requires dtype "
            f"{dc.dtype(found).name}",
            operator="aten::float_power_",
            argument="self",
        )
    return aten.copy_.default(self, found)


def _shift(
    self: Array, other: Array, step: Callable[[Array, Array], Array], outside: Callable[[Array], Array]
) -> Array:
    """Shift by a product or quotient with a power of two; ``outside`` computes that of too long and negative shifts."""
    dtype = common_dtype(self, other)
    self, other = cast(self, dtype), cast(other, dtype)
    bits = 8 * dtype.itemsize
    most = bits - 1 - dtype.is_signed
    inside = aten.logical_and.default(aten.ge.Scalar(other, 0), aten.lt.Scalar(other, bits))
    exponent = aten.minimum.default(aten.abs.default(other), aten.full_like.default(other, most))
    shifted = step(self, aten.pow.Scalar(2, exponent))
    # The highest power of two is not a number of a signed type, so the last place takes a second step.
    shifted = aten.where.self(aten.gt.Scalar(other, most), step(shifted, aten.full_like.default(other, 2)), shifted)
    return aten.where.self(inside, shifted, outside(self))


def _left_shift(self: Array, other: Array) -> Array:
    return _shift(self, other, aten.mul.Tensor, lambda whole: aten.mul.Scalar(whole, 0))


def _right_shift(self: Array, other: Array) -> Array:
    def signs(whole: Array) -> Array:
        return aten.neg.default(cast(aten.lt.Scalar(whole, 0), dc.dtype(whole)))

    return _shift(self, other, aten.floor_divide.default, signs)
