"""Functions of the formulas of linear algebra."""

from __future__ import annotations

__all__: list[str] = []
