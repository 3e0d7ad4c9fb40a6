"""Functions of the formulas of scattered writes and reductions."""

from __future__ import annotations

__all__: list[str] = []
