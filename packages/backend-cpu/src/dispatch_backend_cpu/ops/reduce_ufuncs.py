"""Folds of ufuncs, called by position (``array, axes, dtype, out, keepdims``), which is faster than by keyword.

NumPy's stubs know the keywords only, hence ``Any``.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ..arrays import Array

SUM: Final[Any] = np.add.reduce
PROD: Final[Any] = np.multiply.reduce
MAX: Final[Any] = np.maximum.reduce
MIN: Final[Any] = np.minimum.reduce
ANY: Final[Any] = np.logical_or.reduce
ALL: Final[Any] = np.logical_and.reduce


def row_maxima(a: Array, axis: int) -> Any:
    """Return the maxima along a dimension, which stays; of many short rows by turning them, which NumPy folds faster."""
    shape = a.shape
    if axis in (-1, len(shape) - 1) and (length := shape[-1]) <= _SHORT and a.size >= 8 * length:
        turned = np.ascontiguousarray(a.reshape(-1, length).T)
        return MAX(turned, 0).reshape(*shape[:-1], 1)
    return MAX(a, axis, None, None, True)


_SHORT: Final = 64
