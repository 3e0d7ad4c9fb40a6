"""Functions of the formulas of attention, embeddings and their bags."""

from __future__ import annotations

__all__: list[str] = []
