"""Functions of the formulas of padding."""

from __future__ import annotations

__all__: list[str] = []
