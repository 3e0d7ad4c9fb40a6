"""Norms and deviations whose powers may overflow or lose digits: these are made of numbers scaled by powers of two."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from ...arrays import Array
from ...output_specs import OutputSpec, half_as_float
from ..support.reduce_ufuncs import MAX, MIN, SUM
from ..support.rule_kernels import cast

#: So many sums are compared faster as Python's numbers.
_FEW: Final = 64
_DTYPES: Final = (np.dtype(np.float32), np.dtype(np.float64))

#: dtype → the bounds of a sum of powers; below, elements may have lost digits as subnormal numbers.
SAFE: Final[dict[np.dtype[Any], tuple[float, float]]] = {
    dtype: (float(np.finfo(dtype).tiny / np.finfo(dtype).eps), float(np.finfo(dtype).max)) for dtype in _DTYPES
}


def safe_places(sums: Any) -> Any:
    """Return where sums are in the safe range."""
    low, high = SAFE[sums.dtype]
    return (sums > low) & (sums < high)


def is_safe(sums: Any) -> bool:
    """Return whether all sums are in the safe range, or there are none."""
    low, high = SAFE[sums.dtype]
    if not sums.ndim:
        return bool(low < sums < high)
    if sums.size <= _FEW:
        listed = (sums if sums.ndim == 1 else sums.ravel()).tolist()
        return not listed or (low < min(listed) and max(listed) < high)
    return bool(low < MIN(sums, None) and MAX(sums, None) < high)


def scale_down(a: Array, axes: tuple[int, ...], fold: Any = MAX) -> tuple[Array, Array]:
    """Return ``a`` divided by powers of two, so that ``fold`` along ``axes`` gives about 1, and their exponents."""
    size = np.maximum(np.absolute(a.real), np.absolute(a.imag)) if a.dtype.kind == "c" else np.absolute(a)
    most = fold(size, axes, None, None, True, 0.0 if not a.size else np._NoValue)
    exponents = np.where(np.isfinite(most), np.frexp(most)[1], 0)
    if a.dtype.kind != "c":
        return np.ldexp(a, -exponents), exponents
    scaled = np.empty_like(a)
    scaled.real, scaled.imag = np.ldexp(a.real, -exponents), np.ldexp(a.imag, -exponents)
    return scaled, exponents


def length(a: Array) -> Any:
    """Return the square root of the sum of squares of dense floats."""
    flat = a.reshape(-1) if a.flags.c_contiguous else a.T.reshape(-1)
    found = flat.dot(flat)
    low, high = SAFE[a.dtype]
    return np.sqrt(found) if low < found < high else root(found, flat, 2, (0,), False)


def sum_powers(size: Array, ord: Any, axes: tuple[int, ...], keepdim: bool) -> Any:
    """Return the sum of powers along dimensions."""
    return SUM(size * size if ord == 2 else size ** size.dtype.type(ord), axes, None, None, keepdim)


def _take_root(powers: Any, ord: Any) -> Any:
    return np.sqrt(powers) if ord == 2 else powers ** (1 / powers.dtype.type(ord))


def root(powers: Any, size: Array, ord: Any, axes: tuple[int, ...], keepdim: bool) -> Any:
    """Return the norm whose powers are summed; where the sum left the safe range, from elements that are scaled first."""
    if is_safe(powers):
        return _take_root(powers, ord)
    scaled, exponents = scale_down(size, axes, MAX if ord > 0 else MIN)
    again = _take_root(sum_powers(np.absolute(scaled), ord, axes, keepdim), ord)
    again = np.ldexp(again, exponents.reshape(np.shape(again)))
    return np.where(safe_places(powers), _take_root(powers, ord), again)


def variance(a: Array, correction: float) -> Any:
    """Return the variance of all elements, as `_moments` does."""
    count = a.size
    away = a - SUM(a, None) / count
    return SUM(away * away, None) / (count - correction)


def deviation(a: Array, correction: float) -> Any:
    """Return the standard deviation of all elements."""
    found = variance(a, correction)
    low, high = SAFE[a.dtype]
    if low < found < high:
        return np.sqrt(found)
    scaled, exponents = scale_down(a, tuple(range(a.ndim)))
    return np.ldexp(np.sqrt(variance(scaled, correction)), exponents.reshape(()))


def euclidean_distances(spec: OutputSpec, x1: Array, x2: Array) -> Any:
    """Return all distances by one product: the root of ``|a|² - 2 ab + |b|²``."""
    x1, x2 = (cast(each, half_as_float(spec.array_dtype)) for each in (x1, x2))
    most = max(np.absolute(x1).max(initial=0), np.absolute(x2).max(initial=0))
    low, high = SAFE.get(x1.dtype, (0, math.inf))
    # Squares of coordinates in this range can be summed and still be multiplied.
    is_usual = not np.isfinite(most) or not most or low**0.5 * 1e6 < most < high**0.5 / 1e6
    scale = x1.dtype.type(1 if is_usual else most)
    a, b = (x1, x2) if is_usual else (x1 / scale, x2 / scale)
    left = np.concatenate([a * x1.dtype.type(-2), SUM(a * a, -1, None, None, True), np.ones_like(a[..., :1])], -1)
    right = np.concatenate([b, np.ones_like(b[..., :1]), SUM(b * b, -1, None, None, True)], -1)
    found = np.sqrt(np.maximum(np.matmul(left, right.swapaxes(-1, -2)), x1.dtype.type(0)))
    return found if is_usual else found * scale
