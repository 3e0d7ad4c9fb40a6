"""Ranges in which sums of powers neither overflow nor lose digits, and scales by powers of two, which keep all digits."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ..arrays import Array
from .reduce_ufuncs import MAX

_DTYPES: Final = (np.dtype(np.float32), np.dtype(np.float64))

#: dtype → what a sum of powers lies between; below, elements may have lost digits as subnormal numbers.
SAFE: Final[dict[np.dtype[Any], tuple[Any, Any]]] = {
    dtype: (np.finfo(dtype).tiny / np.finfo(dtype).eps, np.finfo(dtype).max) for dtype in _DTYPES
}


def safe_places(sums: Any) -> Any:
    """Return where sums are in the safe range."""
    low, high = SAFE[sums.dtype]
    return (sums > low) & (sums < high)


def is_safe(sums: Any) -> bool:
    """Return whether all sums are in the safe range, or there are none."""
    return bool(safe_places(sums).all())


def scale_down(a: Array, axes: tuple[int, ...], fold: Any = MAX) -> tuple[Array, Array]:
    """Return ``a`` divided by powers of two, so that what ``fold`` finds along ``axes`` is about 1, and their exponents."""
    size = np.maximum(np.absolute(a.real), np.absolute(a.imag)) if a.dtype.kind == "c" else np.absolute(a)
    most = fold(size, axes, None, None, True, 0.0 if not a.size else np._NoValue)
    exponents = np.where(np.isfinite(most), np.frexp(most)[1], 0)
    if a.dtype.kind != "c":
        return np.ldexp(a, -exponents), exponents
    scaled = np.empty_like(a)
    scaled.real, scaled.imag = np.ldexp(a.real, -exponents), np.ldexp(a.imag, -exponents)
    return scaled, exponents
