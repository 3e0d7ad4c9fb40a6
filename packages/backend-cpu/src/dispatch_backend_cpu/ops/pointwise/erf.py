"""The error function, which NumPy lacks.

Note [The error function]
    NumPy's functions are vector code, and SciPy computes one element after the other; few elements are computed by SciPy
    nevertheless, one call against fifteen or more, and where it is not installed as one would compute many in float64, or
    one by one by Python's own function. So that results do not depend on how they are computed, the size that counts is that
    of the whole operation: tiles of more are never that small, and a plan's symbol knows the size of its operation.

    Many in ``float32`` are ``tanh(x * p(x²) / q(x²))``, where three powers in ``p`` and ``q`` leave a relative error of 1e-8
    (with the roundings 4 units in the last place). Many in ``float64`` are ``erf(r)`` from a table, where ``r`` is the
    nearest multiple of 1/256, and five terms of Taylor's series about it, which leave 1.5 units in the last place; SciPy's
    have 2.6 (source: ``erf`` of Arm's Optimized Routines, with steps of 1/128 and one term more).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np

from ...arrays import Array
from ...libraries import find_scipy
from ..support.constants import number

#: Up to how many elements SciPy is as fast, by dtype, and up to how many Python's own function is.
FEW: Final = {"f": 2048, "d": 16384}
_VERY_FEW: Final = 256
#: How many are computed at a time, by dtype, so that intermediate results stay in the cache.
_TILES: Final = {"f": 32768, "d": 16384}

#: From its root on the result is 1.
_BOUND: Final = 18.0
#: The coefficients of p and q from the lowest, where the highest is 1, and the factor of p / q.
_FACTOR, _OVER, _UNDER = (
    6.830553741595692,
    (538.652520014262, 132.77187028864182, 19.96170978350774),
    (3260.6902534744368, 506.7416628971801, 75.28375442221311),
)

#: The steps of the table between one number and the next, and the number from which the result is 1.
_STEPS, _END = 256, 6


def erf(x: Array) -> Any:
    """Return the error function, element by element; ``float32`` in, ``float32`` out.

    >>> erf(np.array([0.0, 1.0])).round(6).tolist()
    [0.0, 0.842701]
    """
    char = x.dtype.char
    if x.size <= FEW[char]:
        return load_erf()(x)
    compute, tile = _compute_single if char == "f" else _compute_double, _TILES[char]
    if type(x) is not np.ndarray or x.size <= tile or not x.flags.c_contiguous:
        return compute(x)
    flat, out = x.reshape(-1), np.empty(x.size, x.dtype)
    for start in range(0, x.size, tile):
        out[start : start + tile] = compute(flat[start : start + tile])
    return out.reshape(x.shape)


def _compute_single(x: Array) -> Any:
    square = np.minimum(x * x, number(_BOUND, x))
    over, under = (_polynomial(square, each) for each in (_OVER, _UNDER))
    over /= under
    over *= x
    over *= number(_FACTOR, x)
    return np.tanh(over)


def _polynomial(x: Array, coefficients: tuple[float, ...]) -> Any:
    """Return the polynomial that has these coefficients from the lowest, and then 1."""
    found = x + number(coefficients[-1], x)
    for each in coefficients[-2::-1]:
        found *= x
        found += number(each, x)
    return found


class ArrayFunction:
    """A function of one array that is called, and traced, as a ufunc is.

    ``compute`` returns a new array of the dtype that it is given.
    """

    nout: Final = 1
    signature: Final = None

    def __init__(self, compute: Callable[[Array], Any], name: str = "erf") -> None:
        self._compute, self.__name__ = compute, name

    def __call__(self, x: Any, out: Array | None = None) -> Any:
        """Return the function of an array, in ``out`` where it is given, or the operation that a symbol records."""
        if not isinstance(x, (np.ndarray, np.generic)):
            return x.__array_ufunc__(self, "__call__", x)
        found = self._compute(np.asarray(x))
        if out is None:
            return found
        out[...] = found
        return out

    def resolve_dtypes(self, dtypes: tuple[Any, ...]) -> tuple[np.dtype[Any], np.dtype[Any]]:
        """Return the dtypes of the operand and of the result."""
        dtype = np.dtype(dtypes[0])
        return dtype, dtype


@cache
def _table() -> tuple[Array, Array]:
    """Return the function and its derivative at the multiples of the step."""
    at = [place / _STEPS for place in range(_END * _STEPS + 1)]
    slope = 2 / math.sqrt(math.pi)
    return np.array([*map(math.erf, at)]), np.array([slope * math.exp(-r * r) for r in at])


@ArrayFunction
def _compute_double(x: Array) -> Any:
    """Return the function of ``float64`` by the table; see Note [The error function]."""
    values, slopes = _table()
    d = np.absolute(x)
    np.minimum(d, float(_END), out=d)
    r = d * float(_STEPS)
    np.rint(r, out=r)
    place = r.astype(np.intp)  # of nan any place: the result is nan
    r *= 1 / _STEPS
    d -= r
    square = r * r
    # d - r d² + (2r² - 1)/3 d³ - r(2r² - 3)/6 d⁴ + (4r⁴ - 12r² + 3)/30 d⁵
    found = square * (4 / 30)
    found -= 12 / 30
    found *= square
    found += 3 / 30
    found *= d
    fourth = square * (-2 / 6)
    fourth += 3 / 6
    fourth *= r
    found += fourth
    found *= d
    square *= 2 / 3
    square -= 1 / 3
    found += square
    found *= d
    found -= r
    found *= d
    d *= slopes.take(place, mode="clip")
    found *= d
    found += d
    found += values.take(place, mode="clip")
    return np.copysign(found, x, out=found)


def one_by_one(function: Callable[[float], float]) -> Callable[[Array], Any]:
    """Make a function of arrays from one of Python's numbers.

    >>> one_by_one(math.erfc)(np.zeros(2, np.float32))
    array([1., 1.], dtype=float32)
    """
    calls: Any = np.frompyfunc(function, 1, 1)

    def compute(x: Array) -> Any:
        # Of an array without dimensions it is a number.
        return np.asarray(calls(x), x.dtype)

    return compute


_by_python: Final = one_by_one(math.erf)


@ArrayFunction
def _erf(x: Array) -> Any:
    if x.size <= _VERY_FEW:
        return _by_python(x)
    return _compute_double(x.astype(np.float64)).astype(x.dtype, copy=False)


@cache
def load_erf() -> Any:
    """Return the function for few elements: SciPy's, or that of arrays and of Python's own where it is not installed."""
    special = find_scipy("special")
    return _erf if special is None else special.erf
