"""Libraries that few operators need, imported when one of them first does; an installation need not have them."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from dispatch_aten.errors import UnsupportedError, library_hint


@cache
def find_scipy(module: str) -> Any:
    """Return a module of SciPy, such as ``"linalg.lapack"``, or None where SciPy is not installed."""
    try:
        return import_module(f"scipy.{module}")
    except ImportError:
        return None


@cache
def scipy(module: str, operator: str) -> Any:
    """Return a module of SciPy for an operator, which an ``UnsupportedError`` names where SciPy is not installed."""
    try:
        return import_module(f"scipy.{module}")
    except ImportError as error:
        raise UnsupportedError(
            "this needs SciPy, which is not installed", operator=f"aten::{operator}", hint=library_hint("scipy")
        ) from error
