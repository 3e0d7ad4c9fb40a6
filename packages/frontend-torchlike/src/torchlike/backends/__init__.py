"""Questions about torch's libraries: none is used here (source: ``torch.backends``)."""

from __future__ import annotations

from typing import Any

from .libraries import LIBRARIES

globals().update(LIBRARIES)

__all__ = list(LIBRARIES)  # a table's names


def __getattr__(name: str) -> Any:
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
