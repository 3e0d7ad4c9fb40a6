"""Reports of the progress of long work, at most twenty a second."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from time import perf_counter_ns
from typing import Any, Final

from ..interrupts import by_subscript

#: Nanoseconds between two reports: at most twenty a second, and none of a flush that is shorter.
_PAUSE: Final = 50_000_000

#: Whether a report is under way: steps that it needs itself are not reported.
_reporting: Final[ContextVar[bool]] = ContextVar("dispatch_core.progress", default=False)
_set_reporting: Final = by_subscript(_reporting.set)


def reporter(progress: Callable[[int, Any], object], total: int | None) -> Callable[[int], None]:
    """Return the function to call after each step, with the number of steps done.

    A flush that was reported is reported once more at its end, so that a bar gets full.
    """
    due = perf_counter_ns() + _PAUSE
    reported = False

    def report(done: int) -> None:
        nonlocal due, reported
        now = perf_counter_ns()
        if _reporting.get() or (now < due and not (reported and done == total)):
            return
        reported = True
        token = _set_reporting[True]
        try:
            progress(done, total)
        finally:
            _reporting.reset(token)
        due = perf_counter_ns() + _PAUSE

    return report
