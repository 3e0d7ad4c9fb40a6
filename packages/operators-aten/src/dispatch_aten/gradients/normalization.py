"""Functions of the formulas of normalizations."""

from __future__ import annotations

__all__: list[str] = []
