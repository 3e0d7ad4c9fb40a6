"""One line per call on stderr, nested, where the environment variable ``DISPATCH_TRACE`` asks for it.

Note [A trace that is off costs nothing]
    Whether calls are printed is decided when a runner is made for a slot of a table, never by a call. So a change of the
    variable takes effect after ``dispatch_core.refresh()``, which empties the tables.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final

from ..environment import Switch
from ..interrupts import by_subscript

#: Whether calls are printed.
TRACE: Final = Switch("DISPATCH_TRACE")
_depth: Final[ContextVar[int]] = ContextVar("dispatch_core.operators.call_trace", default=0)
_set_depth: Final = by_subscript(_depth.set)


def trace_calls(run: Callable[..., Any], line: str) -> Callable[..., Any]:
    """Return ``run`` with ``line`` printed before it, and the lines of its own calls printed further in."""

    def call(*values: Any, **keywords: Any) -> Any:
        write(line)
        depth = _depth.get() + 1
        token = _set_depth[depth]
        try:
            return run(*values, **keywords)
        finally:
            _depth.reset(token)

    return call


def write(line: str) -> None:
    """Print a line at the depth of the call that is under way, with the thread's name unless it is the main one."""
    thread = threading.current_thread()
    name = "" if thread is threading.main_thread() else f"[{thread.name}] "
    # One call of write, so that lines of several threads do not mix.
    if sys.stderr is not None:
        sys.stderr.write(f"{name}{'  ' * _depth.get()}{line}\n")
