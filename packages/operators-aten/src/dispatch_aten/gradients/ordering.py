"""Functions of the formulas of sorts and order statistics."""

from __future__ import annotations

__all__: list[str] = []
