"""Questions about torch's libraries: none is used here (source: ``torch.backends``)."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from .libraries import LIBRARIES

globals().update(LIBRARIES)

__all__ = list(LIBRARIES)  # a table's names


def __getattr__(name: str) -> Any:
    if name == "__allow_nonbracketed_mutation":  # settings can be changed outside of such blocks, too
        return nullcontext
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
