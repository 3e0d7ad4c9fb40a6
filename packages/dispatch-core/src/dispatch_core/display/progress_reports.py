"""Reports of the progress of long work, at most twenty a second, to a function or to a display of dispatch-devkit's."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from time import perf_counter_ns
from typing import Any, Final, Protocol

from .. import devkit
from ..errors import ArgumentError
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


class ProgressDisplay:
    """Shows progress, as bars do, until it is closed."""

    def __call__(self, done: int, total: int | None) -> None:
        """Show that ``done`` of ``total`` steps have run; ``total`` is None if unknown."""
        raise NotImplementedError

    def close(self) -> None:
        """End what is shown."""
        raise NotImplementedError


def close_display(progress: object) -> None:
    """Close a display; a function of the program's has no end."""
    if isinstance(progress, ProgressDisplay):
        progress.close()


def choose_progress(
    value: object, label: str = "pipeline", unit: str = "steps", whose: str = "pipeline(): option 'progress'"
) -> Any:
    """Return the function that reports progress for the option's value, or None where there is nothing to report to.

    True is a bar where standard error is a terminal or a notebook's, ``"always"`` one in any case, False none. Raises
    ``ArgumentError`` for anything else than these and functions.
    """
    if value is False or value is None:
        return None
    if value is True or (isinstance(value, str) and value == "always"):
        return devkit.make_bar(label, unit, is_forced=value is not True)
    if callable(value):
        return value
    raise ArgumentError(f"{whose} must be a bool, 'always', a function of two ints or None, not {value!r}")


class ProgressSwitch(Protocol):
    """An open block that shows the progress of all within."""

    def find(self, label: str, unit: str) -> Callable[[int, Any], object] | None:
        """Return the function to report to, if there is one."""
        ...

    def watch(self, unit: str, look: Callable[[], tuple[str, int]]) -> Any:
        """Show something that cannot report until the result's ``end()`` is called; None where no bars are shown."""
        ...


#: The innermost open block.
progress_switch: Final[ContextVar[ProgressSwitch | None]] = ContextVar("dispatch_core.show_progress", default=None)


def find_progress(label: str, unit: str) -> Callable[[int, Any], object] | None:
    """Return the function to report progress to, if a block around asks for it."""
    switch = progress_switch.get()
    return None if switch is None else switch.find(label, unit)


class LoopReport:
    """The reports of one loop: ``report(done)`` after each turn, ``end()`` after the last."""

    def __init__(self, progress: Callable[[int, Any], object], total: int | None) -> None:
        self._progress, self._report = progress, reporter(progress, total)

    def __call__(self, done: int) -> None:
        """Tell that so many turns are done."""
        self._report(done)

    def end(self) -> None:
        """Close the bar, if there is one."""
        close_display(self._progress)


def begin_report(label: str, unit: str, count: Callable[[], int | None]) -> LoopReport | None:
    """Return the reports of a loop that begins, if a block around asks for them; ``count`` returns the number of turns."""
    progress = find_progress(label, unit)
    return None if progress is None else LoopReport(progress, count())


def begin_watch(unit: str, look: Callable[[], tuple[str, int]]) -> Any:
    """Return a watch of work that cannot report, if a block around asks for bars; ``look`` returns a label and a count."""
    switch = progress_switch.get()
    return None if switch is None else switch.watch(unit, look)
