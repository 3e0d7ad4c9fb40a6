"""Functions that draw arguments of the operators of ``attention.rows``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..drawing import Draw


def _bag(r: Draw) -> tuple[Any, ...]:
    return r.f(6, 3), r.i(6, 7), np.array([0, 3, 3])


def _heads(r: Draw) -> tuple[Any, ...]:
    return r.f(2, 3, 4, 5), r.f(2, 3, 6, 5), r.f(2, 3, 6, 5)
