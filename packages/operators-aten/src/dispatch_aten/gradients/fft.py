"""Functions of the formulas of Fourier transforms."""

from __future__ import annotations

__all__: list[str] = []
