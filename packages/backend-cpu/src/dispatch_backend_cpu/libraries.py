"""Libraries that few operators need, imported when one of them first does."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from dispatch_aten.errors import UnsupportedError


@cache
def scipy(module: str) -> Any:
    """Return a module of SciPy, such as ``"linalg.lapack"``; raises ``UnsupportedError`` where it is not installed."""
    try:
        return import_module(f"scipy.{module}")
    except ImportError as error:
        raise UnsupportedError("this operator needs SciPy", hint="python -m pip install scipy") from error
