"""Numbers as arrays without dimensions: NumPy takes longer to make one than to add it."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from dispatch_core.caches import keep

from ...arrays import Array
from ...fp_errors import quietly

PLAIN: Final = frozenset({int, float})
"""The types of numbers that need no second look; operators differ in their rules for bools and complex numbers."""

_KEPT: Final = 256


class _Numbers(dict[float, Array]):
    """Numbers as arrays without dimensions of one dtype."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        super().__init__()
        self._dtype, self._zero = dtype, np.zeros((), dtype)
        self._zero.flags.writeable = False

    def __missing__(self, number: float) -> Array:
        if not number and math.copysign(1, number) > 0:
            return self._zero
        made: Array = quietly(np.array, number, self._dtype)
        made.flags.writeable = False
        # Zeros are not kept by value: 0.0 and -0.0 are equal.
        if number:
            return keep(self, number, made, _KEPT)
        return made


INTEGERS: Final = {np.dtype(np.int64): _Numbers(np.dtype(np.int64))}
"""The same for int64 and ints."""

NUMBERS: Final = {dtype: _Numbers(dtype) for dtype in map(np.dtype, "fd")}
"""For float32 and float64, ints and floats as arrays; a look-up raises ``OverflowError``."""


_GREATEST: Final = {np.dtype(np.float32): float(np.finfo(np.float32).max), np.dtype(np.float64): np.inf}
_INFINITE: Final = (np.inf, -np.inf)


def constant(value: Any, dtype: np.dtype[Any]) -> Array | None:
    """Return a plain number as an array without dimensions; None for others and those too great for the dtype.

    >>> constant(2, np.dtype(np.float32)), constant(1e60, np.dtype(np.float32))
    (array(2., dtype=float32), None)
    """
    greatest = _GREATEST.get(dtype)
    if greatest is None or type(value) not in PLAIN or not (-greatest <= value <= greatest or value in _INFINITE):
        return None
    try:
        return NUMBERS[dtype][value]
    except OverflowError:
        return None


ZEROS: Final = {dtype: np.zeros((), dtype) for dtype in NUMBERS}
"""Their zeros, with the sign plus."""
for _zero in ZEROS.values():
    _zero.flags.writeable = False


def number(value: Any, like: Array) -> Array:
    """Return an option as an array without dimensions in the operands' dtype, so that it promotes nothing."""
    if value.__class__ is int and not value and (zero := ZEROS.get(like.dtype)) is not None:
        return zero
    if type(value) in PLAIN and (numbers := NUMBERS.get(like.dtype)) is not None:
        try:
            return numbers[value]
        except OverflowError:
            pass
    try:
        return np.array(value, like.dtype)
    except (TypeError, ValueError, OverflowError):  # A number that does not fit is converted as C does.
        # A plan's symbol, which is not an array, converts itself.
        converted: Array = (value if hasattr(value, "astype") else np.asarray(value)).astype(like.dtype)
        return converted


def is_one(value: Any) -> bool:
    """Return whether a factor changes nothing; a plan's symbol, whose value is not known, may."""
    return type(value) in PLAIN and bool(value == 1)
