"""Folds of ufuncs, called by position (``array, axes, dtype, out, keepdims``), which is faster than by keyword.

NumPy's stubs know the keywords only, hence ``Any``.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

SUM: Final[Any] = np.add.reduce
PROD: Final[Any] = np.multiply.reduce
MAX: Final[Any] = np.maximum.reduce
MIN: Final[Any] = np.minimum.reduce
ANY: Final[Any] = np.logical_or.reduce
ALL: Final[Any] = np.logical_and.reduce
