"""Telling a function how far a long flush is."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from time import perf_counter_ns
from typing import Final

from ..interrupts import by_subscript

__all__ = ["reporter"]

#: Nanoseconds between two reports: at most twenty a second, and none of a flush that is shorter.
_PAUSE: Final = 50_000_000

#: Whether the function is being told: what it reads itself is not reported.
_telling: Final[ContextVar[bool]] = ContextVar("dispatch_core.progress", default=False)
_set_telling: Final = by_subscript(_telling.set)


def _silent(done: int) -> None:
    """Tell nobody."""


def reporter(progress: Callable[[int, int], object] | None, total: int) -> Callable[[int], None]:
    """Return what is called after each step, with the number of steps done.

    A flush that was reported is reported once more at its end, so that a bar gets full.
    """
    if progress is None:
        return _silent
    due = perf_counter_ns() + _PAUSE
    reported = False

    def report(done: int) -> None:
        nonlocal due, reported
        now = perf_counter_ns()
        if _telling.get() or (now < due and not (reported and done == total)):
            return
        reported = True
        token = _set_telling[True]
        try:
            progress(done, total)
        finally:
            _telling.reset(token)
        due = perf_counter_ns() + _PAUSE

    return report
