"""Schemas of padding, as torch spells them."""

from __future__ import annotations

from typing import Final

SCHEMAS: Final = ""
