"""The command ``dispatch``: a module for each of its commands, and what they have in common."""

from __future__ import annotations

from .program import main

__all__ = ["main"]
