"""The loops that Numba compiles, over arrays without gaps: of one dimension, or of rows.

Numba keeps machine code on disk for as long as the file of a loop does not change. It does not see changes in another
file that a loop calls into, so all of them stand here.

LLVM makes vector instructions of straight-line arithmetic and choices. The C library's ``exp`` and ``erf`` stay calls
for each element, so `exp` and `erf` are polynomials here, for float32. Sums are vector code only where terms may be
added in another order: `_sum` allows that and nothing else, and sums of `_PART` terms are added in float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numba import njit
from numpy import float32 as f

from .machine_code import prepare_loop

_OPTIONS: Final[dict[str, Any]] = {"error_model": "numpy", "nogil": True}


def _loop(function: Callable[..., Any]) -> Callable[..., Any]:
    return prepare_loop(njit(**_OPTIONS)(function))


def _sum(function: Callable[..., Any]) -> Callable[..., Any]:
    return prepare_loop(njit(fastmath={"reassoc", "nsz"}, **_OPTIONS)(function))


_inline: Final = njit(inline="always", error_model="numpy")
#: How many terms are added before their sum is added in float64.
_PART: Final = 1024


@_inline
def exp(x: Any) -> Any:
    """Return the exponential, within one unit in the last place (source: Cephes' ``expf``)."""
    x = min(max(x, f(-104.0)), f(89.0)) if not np.isnan(x) else x
    n = np.rint(x * f(1.4426950408889634))
    # In two steps: the first factor has few bits, so that its product is exact.
    x = x - n * f(0.693359375)
    x = x - n * f(-2.12194440e-4)
    p = f(1.9875691500e-4)
    p = p * x + f(1.3981999507e-3)
    p = p * x + f(8.3334519073e-3)
    p = p * x + f(4.1665795894e-2)
    p = p * x + f(1.6666665459e-1)
    p = p * x + f(5.0000001201e-1)
    p = p * x * x + x + f(1.0)
    # Two powers of two, because one may be out of range where the result is not.
    k = np.int32(n)
    half = k >> np.int32(1)
    first = np.int32((half + np.int32(127)) << np.int32(23)).view(np.float32)
    second = np.int32((k - half + np.int32(127)) << np.int32(23)).view(np.float32)
    return p * first * second


@_inline
def erf(x: Any) -> Any:
    """Return the error function, with an absolute error below 2e-7 (source: XLA's ``ErfImpl32``)."""
    z = min(max(x, f(-3.832506856900711)), f(3.832506856900711)) if not np.isnan(x) else x
    s = z * z
    a = f(0.00022905065861350646)
    a = a * s + f(0.0034082910107109506)
    a = a * s + f(0.050955695062380861)
    a = a * s + f(0.18520832239976145)
    a = a * s + f(1.128379143519084)
    b = f(-1.1791602954361697e-7)
    b = b * s + f(0.000023547966471313185)
    b = b * s + f(0.0010179625278914885)
    b = b * s + f(0.014070470171167667)
    b = b * s + f(0.11098505178285362)
    b = b * s + f(0.49746925110067538)
    b = b * s + f(1.0)
    near = z * a / b
    return f(1.0) if x > f(3.92) else f(-1.0) if x < f(-3.92) else near


# Element by element.


@_loop
def sigmoid(x: Any, out: Any) -> None:
    """Compute 1 / (1 + exp(-x))."""
    for i in range(out.size):
        out[i] = f(1.0) / (f(1.0) + exp(-x[i]))


@_loop
def silu(x: Any, out: Any) -> None:
    """Compute x · sigmoid(x)."""
    for i in range(out.size):
        out[i] = x[i] / (f(1.0) + exp(-x[i]))


@_loop
def silu_backward(grad: Any, x: Any, out: Any) -> None:
    """Compute the gradient of silu."""
    for i in range(out.size):
        s = f(1.0) / (f(1.0) + exp(-x[i]))
        out[i] = grad[i] * s * (f(1.0) + x[i] * (f(1.0) - s))


@_loop
def gelu(x: Any, out: Any) -> None:
    """Compute x · Φ(x), Φ by the error function."""
    for i in range(out.size):
        out[i] = f(0.5) * x[i] * (f(1.0) + erf(x[i] * f(0.7071067811865476)))


@_loop
def gelu_backward(grad: Any, x: Any, out: Any) -> None:
    """Compute the gradient of gelu."""
    for i in range(out.size):
        v = x[i]
        cdf = f(0.5) * (f(1.0) + erf(v * f(0.7071067811865476)))
        out[i] = grad[i] * (cdf + v * exp(f(-0.5) * v * v) * f(0.3989422804014327))


@_loop
def leaky_relu(x: Any, slope: Any, out: Any) -> None:
    """Compute x where it is positive, elsewhere x · slope."""
    for i in range(out.size):
        out[i] = x[i] if x[i] > 0 else x[i] * slope


@_loop
def leaky_relu_backward(grad: Any, x: Any, slope: Any, out: Any) -> None:
    """Compute the gradient of leaky_relu."""
    for i in range(out.size):
        out[i] = grad[i] if x[i] > 0 else grad[i] * slope


@_loop
def rsqrt(x: Any, one: Any, out: Any) -> None:
    """Compute 1 / √x."""
    for i in range(out.size):
        out[i] = one / math.sqrt(x[i])


@_loop
def lerp(x: Any, end: Any, weight: Any, rest: Any, out: Any) -> None:
    """Interpolate from the nearer end, as torch does; ``rest`` is 1 - weight."""
    if abs(weight) < 0.5:
        for i in range(out.size):
            out[i] = x[i] + weight * (end[i] - x[i])
    else:
        for i in range(out.size):
            out[i] = end[i] - (end[i] - x[i]) * rest


@_loop
def where(condition: Any, x: Any, other: Any, out: Any) -> None:
    """Choose between two arrays."""
    for i in range(out.size):
        out[i] = x[i] if condition[i] else other[i]


@_loop
def masked_fill(x: Any, mask: Any, value: Any, out: Any) -> None:
    """Choose between an array and a number."""
    for i in range(out.size):
        out[i] = value if mask[i] else x[i]


# Sums. An index that begins at 0 is never taken for one from the end, so the functions take slices.


@_sum
def _add(x: Any) -> Any:
    total = x.dtype.type(0)
    for i in range(x.size):
        total += x[i]
    return total


@_sum
def _add_products(x: Any, y: Any) -> Any:
    total = x.dtype.type(0)
    for i in range(x.size):
        total += x[i] * y[i]
    return total


@_sum
def _add_squared_distances(x: Any, center: Any) -> Any:
    total = x.dtype.type(0)
    for i in range(x.size):
        total += (x[i] - center) * (x[i] - center)
    return total


@_sum
def _add_squared_differences(x: Any, y: Any) -> Any:
    total = x.dtype.type(0)
    for i in range(x.size):
        total += (x[i] - y[i]) * (x[i] - y[i])
    return total


@_sum
def _add_smooth_differences(x: Any, y: Any, beta: Any, half: Any) -> Any:
    total = x.dtype.type(0)
    for i in range(x.size):
        size = abs(x[i] - y[i])
        total += half * size * size / beta if size < beta else size - half * beta
    return total


@_loop
def sum_of_squares(x: Any) -> Any:
    """Return the sum of squares."""
    total = 0.0
    for start in range(0, x.size, _PART):
        part = x[start : start + _PART]
        total += _add_products(part, part)
    return total


@_loop
def sum_of_squared_differences(x: Any, y: Any) -> Any:
    """Return the sum of the squares of x - y."""
    total = 0.0
    for start in range(0, x.size, _PART):
        total += _add_squared_differences(x[start : start + _PART], y[start : start + _PART])
    return total


@_loop
def sum_of_smooth_differences(x: Any, y: Any, beta: Any, half: Any) -> Any:
    """Return the sum of |x - y|, below ``beta`` of (x - y)² / 2 beta instead."""
    total = 0.0
    for start in range(0, x.size, _PART):
        total += _add_smooth_differences(x[start : start + _PART], y[start : start + _PART], beta, half)
    return total


# Row by row.


@_loop
def _exp_below(x: Any, greatest: Any, out: Any) -> None:
    for i in range(out.size):
        out[i] = exp(x[i] - greatest)


@_inline
def _greatest(x: Any) -> Any:
    """Return the greatest element; a nan makes the row's sum nan, whether or not it is found here."""
    most = x[0]
    for i in range(x.size):
        most = x[i] if x[i] > most else most  # noqa: FURB136  # as vector code
    return most


@_loop
def softmax(x: Any, greatest: Any, out: Any) -> None:
    """Compute exp(x) over its sum in each row, whose greatest element may be given."""
    for row in range(x.shape[0]):
        line = out[row]
        most = greatest[row] if greatest.size else _greatest(x[row])
        _exp_below(x[row], most, line)
        scale = f(1.0) / _add(line)
        for i in range(line.size):
            line[i] *= scale


@_loop
def log_softmax(x: Any, greatest: Any, out: Any) -> None:
    """Compute the logarithm of softmax."""
    for row in range(x.shape[0]):
        line, source = out[row], x[row]
        most = greatest[row] if greatest.size else _greatest(source)
        _exp_below(source, most, line)
        base = f(math.log(_add(line)))
        for i in range(line.size):
            line[i] = source[i] - most - base


@_loop
def softmax_backward(grad: Any, result: Any, out: Any) -> None:
    """Compute the gradient of softmax from its result."""
    for row in range(out.shape[0]):
        line, given, known = out[row], grad[row], result[row]
        total = _add_products(given, known)
        for i in range(line.size):
            line[i] = (given[i] - total) * known[i]


@_loop
def log_softmax_backward(grad: Any, result: Any, out: Any) -> None:
    """Compute the gradient of log_softmax from its result."""
    for row in range(out.shape[0]):
        line, given, known = out[row], grad[row], result[row]
        total = _add(given)
        for i in range(line.size):
            line[i] = given[i] - exp(known[i]) * total


@_loop
def layer_norm(x: Any, weight: Any, bias: Any, eps: Any, out: Any, means: Any, rstds: Any) -> None:
    """Normalize each row to mean 0 and variance 1, then scale and shift it."""
    one = x.dtype.type(1)
    zero = x.dtype.type(0)
    count = x.dtype.type(x.shape[1])
    for row in range(x.shape[0]):
        mean = _add(x[row]) / count
        rstd = one / math.sqrt(_add_squared_distances(x[row], mean) / count + eps)
        means[row] = mean
        rstds[row] = rstd
        if weight.size and bias.size:
            for i in range(x.shape[1]):
                out[row, i] = (x[row, i] - mean) * rstd * weight[i] + bias[i]
        else:
            for i in range(x.shape[1]):
                scale, shift = weight[i] if weight.size else one, bias[i] if bias.size else zero
                out[row, i] = (x[row, i] - mean) * rstd * scale + shift


@_loop
def cumsum(x: Any, out: Any) -> None:
    """Compute the sums of the beginnings of each row, one after the other."""
    for row in range(x.shape[0]):
        total = x.dtype.type(0)
        for i in range(x.shape[1]):
            total += x[row, i]
            out[row, i] = total


@_loop
def topk(x: Any, largest: bool, values: Any, places: Any) -> None:
    """Find the first elements of each row in order; nan is the greatest, and of equal ones the first comes first."""
    k = values.shape[1]
    for row in range(x.shape[0]):
        held = 0
        for i in range(x.shape[1]):
            v = x[row, i]
            if held == k:
                last = values[row, k - 1]
                if (v <= last) if largest else (v >= last):
                    continue
            at = held
            while at > 0:
                other = values[row, at - 1]
                is_before = v > other if largest else v < other
                if not is_before and np.isnan(v if largest else other) and not np.isnan(other if largest else v):
                    is_before = True
                if not is_before:
                    break
                at -= 1
            if at == k:
                continue
            held = min(held + 1, k)
            for place in range(held - 1, at, -1):
                values[row, place] = values[row, place - 1]
                places[row, place] = places[row, place - 1]
            values[row, at] = v
            places[row, at] = i
