"""Derivative formulas of convolutions; see ``dispatch_aten.derivatives``."""

from __future__ import annotations

from typing import Final

FORMULAS: Final[dict[str, dict[str, str]]] = {}
