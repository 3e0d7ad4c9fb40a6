"""Element-wise formulas in torch's terms, where NumPy has no ufunc or another meaning.

Every function takes arrays of one dtype, the one that torch computes in, and then the operator's options.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from dispatch_aten.errors import OperatorError

from ...arrays import Array
from ..support.constants import PLAIN, ZEROS, is_one, number
from . import division
from .erf import erf

_DIVIDED: Final = division.MANY
_SQRT_HALF: Final = 0.7071067811865476
_SQRT_2_OVER_PI: Final = 0.7978845608028654
_INV_SQRT_2PI: Final = 0.3989422804014327


def add(a: Array, b: Array, alpha: Any = 1) -> Any:
    return a + (b if is_one(alpha) else number(alpha, b) * b)


def sub(a: Array, b: Array, alpha: Any = 1) -> Any:
    return a - (b if is_one(alpha) else number(alpha, b) * b)


def rsub(a: Array, b: Array, alpha: Any = 1) -> Any:
    return sub(b, a, alpha)


def _check_zero(a: Array, b: Array) -> None:
    """Raise torch's error for an integer division by zero, unless there is nothing to divide."""
    if b.dtype.kind in "iub" and a.size and not b.all():
        raise OperatorError("ZeroDivisionError", argument="other")


def _signs_differ(a: Array, b: Array) -> Array:
    differ: Array = (a < number(0, a)) != (b < number(0, b))
    return differ


def div_mode(a: Array, b: Array, *, rounding_mode: str | None) -> Any:
    """Divide and round to minus infinity (``"floor"``), to zero (``"trunc"``) or not at all."""
    if rounding_mode == "floor":
        return floor_divide(a, b)
    if rounding_mode is None:
        return np.true_divide(a, b)
    if a.dtype.kind == "f":
        return np.trunc(a / b)
    _check_zero(a, b)
    quotient = np.floor_divide(a, b)
    if a.dtype.kind == "u":
        return quotient
    return quotient + ((quotient * b != a) & _signs_differ(a, b))


def floor_divide(a: Array, b: Array) -> Any:
    _check_zero(a, b)
    return (np.floor_divide if a.size < _DIVIDED else division.floor_divide)(a, b)


def fmod(a: Array, b: Array) -> Any:
    _check_zero(a, b)
    return (np.fmod if a.size < _DIVIDED else division.fmod)(a, b)


def remainder(a: Array, b: Array) -> Any:
    """Return the remainder with the divisor's sign; a zero keeps the dividend's, which ``np.remainder`` changes."""
    _check_zero(a, b)
    if a.dtype.kind != "f":
        return (np.remainder if a.size < _DIVIDED else division.remainder)(a, b)
    rest = (np.fmod if a.size < _DIVIDED else division.fmod)(a, b)
    return select((rest != number(0, rest)) & _signs_differ(rest, b), rest + b, rest)


def sign(a: Array) -> Any:
    """Return 1, 0 or -1; nan has the sign 0 in torch."""
    if a.dtype.kind == "b":
        return a.copy()
    zero = number(0, a)
    over, under = a > zero, a < zero
    if type(over) is not np.ndarray:
        return over.astype(a.dtype) - under.astype(a.dtype)
    return (over.view(np.int8) - under.view(np.int8)).astype(a.dtype)


def sgn(a: Array) -> Any:
    """Return the sign, of a complex number the one of absolute value 1 in its direction."""
    if a.dtype.kind != "c":
        return sign(a)
    size = np.absolute(a)
    return np.where(size == 0, number(0, a), a / size)


def log1p(a: Array) -> Any:
    """Return ``log(1 + a)``, of complex numbers near 0 too, where NumPy loses the real part."""
    if a.dtype.kind != "c":
        return np.log1p(a)
    one, half = number(1, a.real), number(0.5, a.real)
    near = half * np.log1p(a.real * (2 + a.real) + a.imag * a.imag)
    real = np.where(np.absolute(a) < half, near, np.log(np.hypot(a.real + one, a.imag)))
    found = np.empty(np.shape(a), a.dtype)
    found.real, found.imag = real, np.arctan2(a.imag, a.real + one)
    return found


def logaddexp(a: Array, b: Array) -> Any:
    """Return the logarithm of ``exp(a) + exp(b)``, of complex numbers by the one with the greater real part."""
    if a.dtype.kind != "c":
        if a.dtype.char not in "fd" or a.size <= _MANY:
            return np.logaddexp(a, b)
        # NumPy's function takes one element after the other.
        high, low = np.maximum(a, b), np.minimum(a, b)
        gap = np.where(low == high, number(0, a), low - high)  # of infinities none
        return high + np.log1p(np.exp(gap))
    first = a.real >= b.real
    high, low = np.where(first, a, b), np.where(first, b, a)
    found = high + np.log(1 + np.exp(low - high))
    return np.where(np.isneginf(high.real), high, np.where(np.isposinf(low.real), np.log(np.exp(a) + np.exp(b)), found))


def integers_as_is(ufunc: Any) -> Any:
    """Make a rounding ufunc leave integers alone."""

    def round_floats(a: Array) -> Any:
        return a.copy() if a.dtype.kind in "iub" else ufunc(a)

    return round_floats


def round_decimals(a: Array, *, decimals: int) -> Any:
    if decimals == 0:
        return np.rint(a)
    scale = number(10.0 ** abs(decimals), a)
    return np.rint(a * scale) / scale if decimals > 0 else np.rint(a / scale) * scale


def nan_to_num(a: Array, nan: float | None = None, posinf: float | None = None, neginf: float | None = None) -> Any:
    if a.dtype.kind not in "fc":
        return a.copy()
    if a.dtype.kind == "c":
        return nan_to_num(a.real, nan, posinf, neginf) + 1j * nan_to_num(a.imag, nan, posinf, neginf)
    limits = np.finfo(a.dtype)
    if posinf is None and neginf is None and CLIP is not None and a.dtype in ENDS:
        bound = CLIP(a, number(float(limits.min), a), number(float(limits.max), a))
        missing = np.isnan(a)
        if type(missing) is np.ndarray and not missing.any():
            return bound
        return select(missing, number(0.0 if nan is None else nan, a), bound)
    result = np.where(np.isnan(a), number(0.0 if nan is None else nan, a), a)
    result = np.where(a == np.inf, number(limits.max if posinf is None else posinf, a), result)
    return np.where(a == -np.inf, number(limits.min if neginf is None else neginf, a), result)


def clamp(a: Array, low: Any = None, high: Any = None) -> Any:
    """Clamp by numbers; an element that equals a bound is unchanged, -0.0 at 0.0 too, and nan anywhere stays nan."""
    ends = ENDS.get(a.dtype)
    if CLIP is not None and ends is not None:
        return CLIP(a, ends[0] if low is None else low, ends[1] if high is None else high)
    # Of two zeros ``maximum`` gives the second, but for ``float16`` the first.
    if low is not None:
        a = np.maximum(a, low) if ends is None else np.maximum(low, a)
    if high is not None:
        a = np.minimum(a, high) if ends is None else np.minimum(high, a)
    return a


def relu(a: Array) -> Any:
    return clamp(a, number(0, a))


def clamp_by_tensors(a: Array, low: Any = None, high: Any = None) -> Any:
    """Clamp element by element from below, then from above; nan anywhere stays nan."""
    result = a if low is None else np.maximum(a, low)
    if high is None:
        return result
    is_own = type(result) is np.ndarray and result is not a and result.size >= _MANY and result.shape == np.shape(high)
    return np.minimum(result, high, out=result) if is_own else np.minimum(result, high)


#: The ufunc beneath ``np.clip``, which is three times as fast and keeps the zeros' signs; None where NumPy hides it.
CLIP: Final[Any] = getattr(getattr(getattr(np, "_core", None), "umath", None), "clip", None)


def _ends(char: str) -> tuple[Array, Array]:
    """Return the bounds that bound nothing."""
    dtype = np.dtype(char)
    limits = (-np.inf, np.inf) if dtype.kind == "f" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    low, high = (np.array(limit, dtype) for limit in limits)
    low.flags.writeable = high.flags.writeable = False
    return low, high


#: The least and the greatest value of the dtypes that ``CLIP`` serves faster than ``maximum``: all but ``float16``.
ENDS: Final[dict[np.dtype[Any], tuple[Array, Array]]] = {np.dtype(char): _ends(char) for char in "fdbhilqBHILQ"}


def select(condition: Array, a: Any, b: Any) -> Any:
    """Do as ``np.where``, which has to guess each element's branch: of many elements by the bits of the condition."""
    if type(condition) is not np.ndarray or condition.size < _MANY or a.dtype is not b.dtype:
        return np.where(condition, a, b)
    words = _WORDS.get(a.dtype.itemsize)
    if words is None or (a.dtype not in ZEROS and condition.size < 4 * _MANY):
        return np.where(condition, a, b)
    if a.shape == () and not a.view(words) and b.shape == condition.shape:
        kept = np.subtract(condition.view(np.int8), _ONE).astype(words)
        return np.bitwise_and(kept, b.view(words), kept).view(a.dtype)
    mask = np.negative(condition.view(np.int8)).astype(words)
    other = b.view(words)
    chosen = np.bitwise_xor(a.view(words), other)
    if chosen.shape != condition.shape:
        return np.where(condition, a, b)
    chosen &= mask
    chosen ^= other
    return chosen.view(a.dtype)


#: From how many elements bits are faster than branches.
_MANY: Final = 4096
_ONE: Final = np.array(1, np.int8)
_WORDS: Final = {dtype.itemsize: dtype for dtype in map(np.dtype, ("i1", "i2", "i4", "i8"))}


def where(condition: Array, a: Array, b: Array) -> Any:
    return select(condition if condition.dtype.kind == "b" else condition.astype(np.bool_), a, b)


def lerp(a: Array, b: Array, weight: Any) -> Any:
    """Interpolate from the nearer end, so that a weight of 1 gives ``b`` exactly."""
    by_number = type(weight) in PLAIN
    weight = number(weight, a)
    step, rest = b - a, number(1, a) - weight
    if by_number:
        return a + weight * step if abs(weight) < 0.5 else b - step * rest
    return select(np.abs(weight) < number(0.5, a), a + weight * step, b - step * rest)


def sigmoid(a: Array) -> Any:
    """Return 1 / (1 + exp(-a)), which is 0 where the power overflows."""
    one = number(1, a)
    return one / (one + np.exp(-a))


def silu(a: Array) -> Any:
    return a / (number(1, a) + np.exp(-a))


def silu_backward(grad: Array, a: Array) -> Any:
    gate, one = sigmoid(a), number(1, a)
    return grad * (gate * (a * (one - gate) + one))


def _gelu_gate(a: Array) -> Any:
    return number(1, a) + erf(a * number(_SQRT_HALF, a))


def _tanh_gate(a: Array) -> Any:
    cubic = number(0.044715, a) * a * a * a
    return np.tanh(number(_SQRT_2_OVER_PI, a) * (a + cubic))


def gelu(a: Array, *, approximate: str = "none") -> Any:
    half = number(0.5, a)
    if approximate == "tanh":
        return half * a * (number(1, a) + _tanh_gate(a))
    return half * a * _gelu_gate(a)


def gelu_backward(grad: Array, a: Array, *, approximate: str = "none") -> Any:
    half = number(0.5, a)
    if approximate == "tanh":
        one, inner = number(1, a), _tanh_gate(a)
        slope = number(_SQRT_2_OVER_PI, a) * (one + number(3 * 0.044715, a) * a * a)
        return grad * (half * (one + inner) + half * a * (one - inner * inner) * slope)
    return grad * (half * _gelu_gate(a) + a * np.exp(number(-0.5, a) * a * a) * number(_INV_SQRT_2PI, a))


def leaky_relu(a: Array, negative_slope: Any = 0.01) -> Any:
    falling = a * number(negative_slope, a)
    if type(negative_slope) in PLAIN and 0 < negative_slope <= 1:
        return np.maximum(a, falling)
    return select(a > number(0, a), a, falling)


def leaky_relu_backward(grad: Array, a: Array, negative_slope: Any, self_is_result: bool) -> Any:
    return select(a > number(0, a), grad, grad * number(negative_slope, a))


def softplus(a: Array, beta: Any = 1, threshold: Any = 20) -> Any:
    scaled = _times(a, beta)
    soft = np.log1p(np.exp(scaled))
    return select(scaled > number(threshold, a), a, soft if is_one(beta) else soft / number(beta, a))


def _times(a: Array, factor: Any) -> Any:
    return a if is_one(factor) else a * number(factor, a)


def softplus_backward(grad: Array, a: Array, beta: Any, threshold: Any) -> Any:
    scaled = _times(a, beta)
    limit = number(threshold, a)
    z = np.exp(np.minimum(scaled, limit))
    return select(scaled > limit, grad, grad * z / (z + number(1, a)))


def threshold(a: Array, threshold: Any, value: Any) -> Any:
    return select(a <= number(threshold, a), number(value, a), a)


def threshold_backward(grad: Array, a: Array, threshold: Any) -> Any:
    return select(a <= number(threshold, a), number(0, grad), grad)


def elu(a: Array, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Any:
    negative = _times(np.expm1(_times(a, input_scale)), alpha * scale)
    return select(a < number(0, a), negative, _times(a, scale))


def elu_backward(grad: Array, a: Array, alpha: Any, scale: Any, input_scale: Any, is_result: bool) -> Any:
    coefficient, zero = number(alpha * scale, a), number(0, a)
    below = a + coefficient if is_result else coefficient * np.exp(np.minimum(_times(a, input_scale), zero))
    return select(a <= zero, _times(grad, input_scale) * below, _times(grad, scale))


def celu(a: Array, alpha: Any = 1.0) -> Any:
    if type(alpha) in PLAIN and alpha == 0:
        raise ValueError("a scale that cannot be inverted")
    return elu(a, alpha, 1.0, 1.0 / alpha)


def mish(a: Array) -> Any:
    return a * np.tanh(softplus(a))


def mish_backward(grad: Array, a: Array) -> Any:
    bent, one = np.tanh(softplus(a)), number(1, a)
    slope = sigmoid(a) * (one - bent * bent)
    return grad * (bent + a * slope)


def hardtanh(a: Array, min_val: Any = -1, max_val: Any = 1) -> Any:
    return clamp(a, number(min_val, a), number(max_val, a))


def hardtanh_backward(grad: Array, a: Array, min_val: Any, max_val: Any) -> Any:
    return select((a <= number(min_val, a)) | (a >= number(max_val, a)), number(0, grad), grad)


def hardsigmoid(a: Array) -> Any:
    return clamp(a + number(3, a), number(0, a), number(6, a)) / number(6, a)


def hardsigmoid_backward(grad: Array, a: Array) -> Any:
    return select((a > number(-3, a)) & (a < number(3, a)), grad / number(6, a), number(0, grad))


def hardswish(a: Array) -> Any:
    return a * clamp(a + number(3, a), number(0, a), number(6, a)) / number(6, a)


def hardswish_backward(grad: Array, a: Array) -> Any:
    slope = a / number(3, a) + number(0.5, a)
    inner = select(a < number(3, a), grad * slope, grad)
    return select(a <= number(-3, a), number(0, grad), inner)


def _is_within(a: Array, lambd: Any) -> Any:
    return np.absolute(a) <= number(lambd, a)


def hardshrink(a: Array, lambd: Any = 0.5) -> Any:
    return select(_is_within(a, lambd), number(0, a), a)


def shrink_backward(grad: Array, a: Array, lambd: Any) -> Any:
    return select(_is_within(a, lambd), number(0, grad), grad)


def softshrink(a: Array, lambd: Any = 0.5) -> Any:
    if type(lambd) in PLAIN and not 0 <= lambd <= 1e38:
        raise ValueError("a bound that not every dtype has")
    limit = number(lambd, a)
    # Zeros between the bounds have the element's sign.
    return np.copysign(a - clamp(a, -limit, limit), a)


def prelu(a: Array, weight: Array) -> Any:
    return select(a > number(0, a), a, weight * a)
