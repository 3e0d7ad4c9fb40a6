"""Functions of the formulas of special functions."""

from __future__ import annotations

__all__: list[str] = []
