"""Functions of the formulas of complex numbers."""

from __future__ import annotations

__all__: list[str] = []
