"""Counts of the collectives that run in a block, by the operators' names."""

from __future__ import annotations

from collections import Counter
from contextvars import ContextVar
from typing import Final

#: The counts of the open blocks of this thread or task.
COUNTS: Final[ContextVar[tuple[Counter[str], ...]]] = ContextVar("dispatch_aten.collective_counts", default=())


def count(name: str) -> None:
    """Count a collective between several processes."""
    for each in COUNTS.get():
        each[name.removesuffix("_")] += 1
