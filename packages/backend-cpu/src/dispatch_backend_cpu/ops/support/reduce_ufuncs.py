"""Folds of ufuncs, called by position (``array, axes, dtype, out, keepdims``), which is faster than by keyword.

NumPy's stubs know the keywords only, hence ``Any``.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ...arrays import Array

SUM: Final[Any] = np.add.reduce
PROD: Final[Any] = np.multiply.reduce
MAX: Final[Any] = np.maximum.reduce
MIN: Final[Any] = np.minimum.reduce
ANY: Final[Any] = np.logical_or.reduce
ALL: Final[Any] = np.logical_and.reduce


def row_maxima(a: Any, axis: int) -> Any:
    """Return the maxima along a dimension, which stays; of many short rows by turning them, which NumPy folds faster.

    A symbol that stands for the array records the same.
    """
    if not isinstance(a, np.ndarray):
        return a.row_maxima(axis)
    shape = a.shape
    if axis in (-1, len(shape) - 1) and (length := shape[-1]) <= SHORT_TO_TURN and a.size >= ROWS_TO_TURN * length:
        turned = np.ascontiguousarray(a.reshape(-1, length).T)
        return MAX(turned, 0).reshape(*shape[:-1], 1)
    return MAX(a, axis, None, None, True)


#: From so many elements on, maxima of rows are worth a look at the shape: these rows are turned, if they are so many.
FEW_TO_TURN: Final = 512
SHORT_TO_TURN: Final = 64
ROWS_TO_TURN: Final = 48


def product_of(a: Array, axes: None) -> Any:
    """Multiply many numbers in rows, whose products do not wait for each other."""
    if a.size < MANY_FACTORS or not a.flags.c_contiguous:
        return PROD(a, axes)
    flat = a.reshape(-1)
    whole = a.size - a.size % _ROW
    return PROD(PROD(flat[:whole].reshape(-1, _ROW), 0), None) * PROD(flat[whole:], None)


MANY_FACTORS: Final = 8192
_ROW: Final = 1024


def product_along(a: Array, dim: int, keepdim: bool) -> Any:
    """Multiply long rows in shorter ones, whose products do not wait for each other."""
    width = a.shape[-1] if a.ndim else 0
    if width < _LONG_ROW or a.ndim < 2 or dim % a.ndim != a.ndim - 1 or not a.flags.c_contiguous:
        return PROD(a, dim, None, None, keepdim)
    rows = a.reshape(-1, width)
    whole = width - width % _LANES
    found = PROD(PROD(rows[:, :whole].reshape(rows.shape[0], -1, _LANES), 1), 1) * PROD(rows[:, whole:], 1)
    return found.reshape((*a.shape[:-1], 1) if keepdim else a.shape[:-1])


_LONG_ROW, _LANES = 256, 64


def count(a: Array) -> Any:
    """Count the elements that are not zero."""
    return np.int64(np.count_nonzero(a if a.size < _MANY else a.astype(np.bool_)))


_MANY: Final = 512
