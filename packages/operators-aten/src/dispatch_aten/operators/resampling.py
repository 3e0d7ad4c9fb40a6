"""Schemas of interpolation, sampling on grids, folding and shuffling, as torch spells them."""

from __future__ import annotations

from typing import Final

SCHEMAS: Final = ""
