"""Functions of the formulas of convolutions."""

from __future__ import annotations

__all__: list[str] = []
