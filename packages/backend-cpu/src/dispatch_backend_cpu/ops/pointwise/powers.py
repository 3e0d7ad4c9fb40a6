"""Powers, for some of whose exponents torch takes another function."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ...arrays import Array
from ..support.constants import number
from .division import MANY


def power(a: Array, b: Array) -> Any:
    """Raise to a power; integers to negative powers are 0 but for 1 and -1, as in torch for two tensors."""
    if a.dtype.kind != "i" or not (b < 0).any():
        return np.power(a, b)
    result = np.power(a, np.where(b < 0, 0, b))
    odd = (b & 1).astype(np.bool_)
    reciprocal = np.where(a == 1, 1, np.where(a == -1, np.where(odd, -1, 1), 0))
    return np.where(b < 0, reciprocal, result)


def _cube(a: Array, out: Any = None) -> Any:
    square = a * a
    return square * a if out is None and square.size < MANY else np.multiply(square, a, _into(square, out))


def _inverse_square(a: Array, out: Any = None) -> Any:
    square = a * a
    return np.divide(number(1, a), square, _into(square, out))


def _inverse_root(a: Array, out: Any = None) -> Any:
    root = np.sqrt(a)
    return np.divide(number(1, a), root, _into(root, out))


def _into(made: Any, out: Any) -> Any:
    """Return the array for a result: an intermediate one, if that is large."""
    return made if out is None and made.size >= MANY else out


_SQUARE_AND_CUBE: Final[dict[float, Any]] = {2: np.square, 3: _cube}
_OF_FLOATS: Final = _SQUARE_AND_CUBE | {
    0.5: np.sqrt,
    -0.5: _inverse_root,
    -1: np.reciprocal,
    -2: _inverse_square,
}
#: Dtype → exponent → the function that torch takes in place of a power.
POWERS: Final[dict[np.dtype[Any], dict[float, Any]]] = {
    **dict.fromkeys(map(np.dtype, "fd"), _OF_FLOATS),
    **dict.fromkeys(map(np.dtype, "FDbhilB"), _SQUARE_AND_CUBE),
}


class _PowerByNumber:
    """``np.power`` by a number, torch's way; a plan's chain calls it as a ufunc."""

    __name__ = "power_by_number"
    nout, signature = 1, None
    resolve_dtypes = np.power.resolve_dtypes

    def __call__(self, a: Any, b: Any, out: Any = None) -> Any:
        by_exponent = POWERS.get(a.dtype)
        function = None if by_exponent is None else by_exponent.get(b.item())
        if function is not None:
            return function(a, out)
        return power(a, b) if out is None else np.power(a, b, out)


_power: Final = _PowerByNumber()


def power_by_number(a: Array, b: Array) -> Any:
    """Raise to a power that is a number, or a plan's symbol of one."""
    record = getattr(a, "tape", None)
    if record is None:
        return _power(a, b)
    if a.dtype.kind == "i":
        return power(a, b)  # looks at the exponent
    return record.ufunc(_power, (a, b))


def square(a: Array) -> Any:
    return np.square(a) if a.dtype in POWERS else power_by_number(a, number(2, a))
