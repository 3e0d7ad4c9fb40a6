"""Schemas of scattered writes and reductions, as torch spells them."""

from __future__ import annotations

from typing import Final

SCHEMAS: Final = ""
