"""One line per call on stderr, nested, where the environment variable ``DISPATCH_TRACE`` asks for it; or for listeners.

Whether calls are traced is decided when a runner is made for a slot of a table, never by a call. So a change of the
variable takes effect after ``dispatch_core.refresh()``, which empties the tables, and so does `listen`.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, Protocol, Self, TextIO

from .._record import Record
from ..bookkeeping.changes import notify_change
from ..interrupts import by_subscript
from ..keys.keyset import DispatchKeySet
from ..keys.table import MARKERS, keys_of
from ..surroundings.environment import Switch

if TYPE_CHECKING:
    from ..operators.entry import OperatorEntry
    from .traits import Runner

#: Whether calls are printed.
TRACE: Final = Switch("DISPATCH_TRACE")
_depth: Final[ContextVar[int]] = ContextVar("dispatch_core.calls.call_trace", default=0)
_set_depth: Final = by_subscript(_depth.set)


class TracedCall(Record):
    """All calls of an operator with the same keys: the kernel that they run, by its key and place, and its function."""

    operator: str
    keys: tuple[str, ...]
    kernel: str
    #: The keys as a set; empty for calls that a frontend decides.
    keyset: DispatchKeySet = DispatchKeySet()
    #: The name of the kernel's function; "" where the dispatcher itself decides.
    function: str = ""

    @classmethod
    def of(cls, entry: OperatorEntry, mask: int, kernel: str, function: str) -> Self:
        """Return the calls of an operator that arrive with a mask."""
        keys = tuple(key.name for key in keys_of(mask, entry.registry.profile))
        return cls(entry.name, keys, kernel, DispatchKeySet(mask & ~MARKERS), function)

    def __str__(self) -> str:
        keys = f" ({', '.join(self.keys)})" if self.keys else ""
        return f"{self.operator}{keys} -> {self.kernel}"


class Listener(Protocol):
    """An object that is told of calls, in the thread of each."""

    def begin(self, call: TracedCall) -> object:
        """Take note of a call that begins; ``end`` gets the result."""

    def end(self, begun: object) -> None:
        """Take note of the end of a call, also of one that fails."""

    def write(self, line: str) -> None:
        """Take note of a line about something else than a call: a step of a pipeline, or a kernel that is missing."""


class Printer:
    """Print a line when a call begins, on a stream, or on the standard error of the time."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream

    def begin(self, call: TracedCall) -> None:
        """Print the call's line."""
        self.write(str(call))

    def end(self, begun: object) -> None:
        """Print nothing."""

    def write(self, line: str) -> None:
        """Print a line at the depth of the call that is under way, with the thread's name unless it is the main one."""
        stream = self._stream or sys.stderr
        thread = threading.current_thread()
        name = "" if thread is threading.main_thread() else f"[{thread.name}] "
        # One call of write, so that lines of several threads do not mix.
        if stream is not None:
            stream.write(f"{name}{'  ' * _depth.get()}{line}\n")


_printer: Final = Printer()
#: The listeners of `listen`, of all threads; without any, lines are printed.
_listeners: Final[list[Listener]] = []


def is_on() -> bool:
    """Return whether runners are made that tell of their calls."""
    return bool(_listeners) or TRACE.is_on()


@contextmanager
def listen(*listeners: Listener) -> Iterator[None]:
    """Tell listeners of the calls of all threads while the block runs, instead of those that the variable asks for."""
    _listeners.extend(listeners)
    notify_change()
    try:
        yield
    finally:
        for each in listeners:
            if each in _listeners:
                _listeners.remove(each)
        notify_change()


def _leave_listeners() -> None:
    """Drop the listeners in the child of a fork: its calls are not its parent's."""
    if _listeners:
        _listeners.clear()
        notify_change()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_listeners)


def trace_calls(run: Runner, made: TracedCall) -> Runner:
    """Return ``run`` with the listeners told of each call, or with its line printed; calls inside stand further in."""

    def call(*values: object, **keywords: object) -> object:
        begun = [(each, each.begin(made)) for each in _listeners or (_printer,)]
        depth = _depth.get() + 1
        token = _set_depth[depth]
        try:
            return run(*values, **keywords)
        finally:
            _depth.reset(token)
            for each, what in begun:
                each.end(what)

    return call


def write(line: str) -> None:
    """Write a line that is about no call."""
    for each in _listeners or (_printer,):
        each.write(line)
