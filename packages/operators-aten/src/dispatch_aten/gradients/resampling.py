"""Functions of the formulas of interpolation, sampling on grids, folding and shuffling."""

from __future__ import annotations

__all__: list[str] = []
