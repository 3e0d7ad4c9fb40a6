"""Functions that draw arguments of the operators of ``linalg.rows``."""

from __future__ import annotations

from typing import Any

from dispatch_core import ops

from ..drawing import Draw


def _factor(r: Draw) -> tuple[Any, ...]:
    return tuple(ops.aten.linalg_lu_factor(r.spd()))
