"""Functions of many elements by their bits, or by comparisons, where NumPy's ufuncs take one element after the other.

Others than arrays, which are a plan's symbols, go to the ufuncs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ...arrays import Array
from ..support.constants import ZEROS

_INTEGERS: Final = {np.dtype(char): np.dtype(word) for char, word in (("e", "i2"), ("f", "i4"), ("d", "i8"))}


def copysign(a: Array, b: Array) -> Any:
    """Do as ``np.copysign``."""
    words = _INTEGERS.get(a.dtype)
    if words is None or type(a) is not np.ndarray or a.dtype is not b.dtype:
        return np.copysign(a, b)
    sign = np.array(np.iinfo(words).min, words)
    return np.bitwise_or(np.bitwise_and(a.view(words), ~sign), np.bitwise_and(b.view(words), sign)).view(a.dtype)


def _from_truths(ufunc: Any, combine: Any) -> Callable[[Array, Array], Any]:
    """Make a logical function that compares floats with zero, which is faster than to ask for their truth."""

    def decide(a: Array, b: Array) -> Any:
        zero = ZEROS.get(a.dtype)
        if zero is None or type(a) is not np.ndarray or a.dtype is not b.dtype:
            return ufunc(a, b)
        return combine(a != zero, b != zero)

    return decide


def _logical_not(a: Array) -> Any:
    zero = ZEROS.get(a.dtype)
    return np.logical_not(a) if zero is None or type(a) is not np.ndarray else np.equal(a, zero)


#: Operator → the function that many elements go through.
FOR_MANY: Final[dict[str, Callable[..., Any]]] = {
    "copysign.Tensor": copysign,
    "logical_and": _from_truths(np.logical_and, np.bitwise_and),
    "logical_or": _from_truths(np.logical_or, np.bitwise_or),
    "logical_xor": _from_truths(np.logical_xor, np.bitwise_xor),
    "logical_not": _logical_not,
    "reciprocal": lambda a: 1 / a,
}
