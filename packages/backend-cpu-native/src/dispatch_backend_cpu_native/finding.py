"""The compiled modules, imported where a backend asks for it."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def find_loops() -> ModuleType:
    """Return the compiled module of kernels; raises ``ModuleNotFoundError`` where it is not built."""
    return import_module("._loops", __package__)


def find_draws() -> ModuleType:
    """Return the compiled module of random draws; raises ``ModuleNotFoundError`` where it is not built."""
    return import_module("._draws", __package__)
