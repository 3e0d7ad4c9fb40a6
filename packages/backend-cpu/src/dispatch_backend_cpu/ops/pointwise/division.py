"""Quotients and remainders of many elements, where NumPy divides one element after the other.

A float or integer of 32 bits and its divisor have a quotient in ``float64`` that is not an integer where the exact one is
none, as long as it is not too large: so the integer beneath it, and the remainder, are exact. So are those of 64-bit
integers that a ``float64`` holds. The few elements beyond are left to NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ...arrays import FLOAT, Array
from ..support.reduce_ufuncs import MAX, MIN

_DOUBLE: Final = np.dtype(np.float64)
#: From how many elements quotients and remainders are faster so, and how many are computed at a time.
MANY, _MORE, _TILE = 1 << 12, 1 << 14, 1 << 15
#: Greater quotients and 64-bit integers are left to NumPy.
_GREATEST_QUOTIENT, _GREATEST_INTEGER = 1 << 22, 1 << 52
_SIGN: Final = np.array(-(1 << 31), np.int32)
_INTEGERS: Final = frozenset(map(np.dtype, "il"))


def _by_tiles(compute: Callable[[Any, Any, Array], None], a: Array, b: Array) -> Array | None:
    """Return an array of tiles that are computed from those of two; None where these are not of one shape without gaps."""
    single = b.ndim == 0
    if not (a.flags.c_contiguous and (single or (b.shape == a.shape and b.flags.c_contiguous))):
        return None
    out = np.empty_like(a)
    given, divisors, taken = a.reshape(-1), b if single else b.reshape(-1), out.reshape(-1)
    for start in range(0, taken.size, _TILE):
        part = slice(start, start + _TILE)
        compute(given[part], divisors if single else divisors[part], taken[part])
    return out


def _divide(a: Array, b: Array, round_to: Any) -> tuple[Array, Array, Array]:
    """Return quotients in double precision, rounded to integers, the dividends and the divisors."""
    dividends, divisors = a.astype(_DOUBLE), b.astype(_DOUBLE)
    quotients = dividends / divisors
    return round_to(quotients, quotients), dividends, divisors


def _beyond(quotients: Array) -> Array | None:
    """Return the places of quotients that are too great, or no numbers."""
    if MIN(quotients) > -_GREATEST_QUOTIENT and MAX(quotients) < _GREATEST_QUOTIENT:
        return None
    (places,) = np.nonzero(~(np.absolute(quotients) < _GREATEST_QUOTIENT))
    return places


def _at(b: Array, places: Array) -> Array:
    return b[places] if b.ndim else b


def _fmod_tile(a: Array, b: Array, out: Array) -> None:
    if np.isinf(b).any():
        np.fmod(a, b, out)
        return
    quotients, dividends, divisors = _divide(a, b, np.trunc)
    places = _beyond(quotients)
    np.multiply(quotients, divisors, quotients)
    np.subtract(dividends, quotients, dividends)
    np.copyto(out, dividends, casting="same_kind")
    # A remainder has the sign of its dividend, but for zeros.
    signs, words = np.bitwise_and(a.view(np.int32), _SIGN), out.view(np.int32)
    np.bitwise_or(words, signs, words)
    if places is not None:
        out[places] = np.fmod(a[places], _at(b, places))


def _floor_tile(a: Array, b: Array, out: Array) -> None:
    if np.isinf(b).any():
        np.floor_divide(a, b, out)
        return
    quotients, *_ = _divide(a, b, np.floor)
    np.copyto(out, quotients, casting="same_kind")
    if (places := _beyond(quotients)) is not None:
        out[places] = np.floor_divide(a[places], _at(b, places))


def _remainder_tile(a: Array, b: Array, out: Array) -> None:
    """Write the remainders of integers with the divisors' signs; no divisor is 0."""
    if max(MAX(a), -int(MIN(a)), MAX(b, None), -int(MIN(b, None))) > _GREATEST_INTEGER:
        np.remainder(a, b, out)
        return
    quotients, *_ = _divide(a, b, np.floor)
    np.copyto(out, quotients, casting="unsafe")
    np.multiply(out, b, out)
    np.subtract(a, out, out)


def _make(
    ufunc: Any, dtypes: frozenset[np.dtype[Any]], many: int, compute: Callable[[Any, Any, Array], None]
) -> Callable[..., Any]:
    """Make a function of two arrays of one dtype that gives a ufunc's results."""

    def divide(a: Array, b: Array) -> Any:
        if type(a) is np.ndarray and a.size >= many and a.dtype in dtypes and type(b) is np.ndarray:
            found = _by_tiles(compute, a, b)
            if found is not None:
                return found
        return ufunc(a, b)

    return divide


_FLOATS: Final = frozenset({FLOAT})
fmod: Final = _make(np.fmod, _FLOATS, _MORE, _fmod_tile)
floor_divide: Final = _make(np.floor_divide, _FLOATS, MANY, _floor_tile)
remainder: Final = _make(np.remainder, _INTEGERS, _MORE, _remainder_tile)
