"""The compiled module, imported where the core asks for it."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def find_front() -> ModuleType:
    """Return the compiled module; raises ``ModuleNotFoundError`` where it is not built."""
    return import_module("._front", __package__)
