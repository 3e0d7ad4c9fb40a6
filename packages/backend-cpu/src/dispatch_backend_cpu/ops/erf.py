"""The error function, which NumPy lacks.

Note [The error function in float32]
    ``erf(x)`` is ``tanh(x * p(x²) / q(x²))``, where three powers in ``p`` and ``q`` leave a relative error of 1e-8 (with the
    roundings 4 units in the last place): NumPy's
    ``tanh`` is vector code, and SciPy computes one element after the other. Few elements are computed by SciPy, one call
    against fifteen. So that results do not depend on how they are computed, the size that counts is that of the whole
    operation: tiles of more are never that small, and a plan's symbol knows the size of its operation.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np

from ..arrays import Array
from ..libraries import scipy
from .constants import number

#: Up to how many elements SciPy is as fast.
_FEW: Final = 2048
#: How many are computed at a time, so that what lies between stays in the cache.
_TILE: Final = 32768

#: From its root on the result is 1.
_BOUND: Final = 18.0
#: The coefficients of p and q from the lowest, where the highest is 1, and the factor of p / q.
_FACTOR, _OVER, _UNDER = (
    6.830553741595692,
    (538.652520014262, 132.77187028864182, 19.96170978350774),
    (3260.6902534744368, 506.7416628971801, 75.28375442221311),
)


@cache
def load(name: str) -> Callable[..., Any]:
    """Return a function of ``scipy.special``; raises ``UnsupportedError`` where SciPy is missing."""
    found: Callable[..., Any] = getattr(scipy("special"), name)
    return found


def erf(x: Array) -> Any:
    """Return the error function, element by element; ``float32`` in, ``float32`` out.

    >>> erf(np.array([0.0, 1.0])).round(6).tolist()
    [0.0, 0.842701]
    """
    if x.dtype.char != "f" or x.size <= _FEW:
        return load("erf")(x)
    if type(x) is not np.ndarray or x.size <= _TILE or not x.flags.c_contiguous:
        return _compute(x)
    flat, out = x.reshape(-1), np.empty(x.size, x.dtype)
    for start in range(0, x.size, _TILE):
        out[start : start + _TILE] = _compute(flat[start : start + _TILE])
    return out.reshape(x.shape)


def _compute(x: Array) -> Any:
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
