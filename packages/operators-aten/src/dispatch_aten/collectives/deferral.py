"""Calls of engines without streams that a program waits for later: what has begun, and what is left to do.

An engine that can go on by itself adds its calls to the thread's deferral, where there is one, and else waits for them; what
becomes of their results is put behind them by `after`.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Self

__all__ = ["Deferral", "after", "current_deferral"]

_thread = threading.local()


class Deferral:
    """The steps that are left of calls which begin within its block.

    >>> with Deferral() as left:
    ...     after(lambda: print("copied"))
    >>> left.finish()
    copied
    """

    def __init__(self) -> None:
        self._steps: deque[tuple[Callable[[], bool], Callable[[], object]]] = deque()
        self._error: BaseException | None = None

    def __enter__(self) -> Self:
        """Make it the thread's."""
        self._before = current_deferral()
        _thread.current = self
        return self

    def __exit__(self, *exception: object) -> None:
        """Give the thread its former one back."""
        _thread.current = self._before

    def add(self, is_done: Callable[[], bool], finish: Callable[[], object]) -> None:
        """Add a call: a function that returns whether it is done, and one that waits for it and raises its error."""
        self._steps.append((is_done, finish))

    def is_done(self) -> bool:
        """Return whether all is done, once that which needs no waiting was done; a call that has failed is done, too."""
        while self._error is None and self._steps and self._steps[0][0]():
            try:
                self._take()
            except Exception:  # noqa: BLE001  # the program that waits gets it
                break
        return self._error is not None or not self._steps

    def finish(self) -> None:
        """Wait for all calls. Raises their first error, each time."""
        while self._error is None and self._steps:
            self._take()
        if self._error is not None:
            raise self._error

    def _take(self) -> None:
        _, finish = self._steps.popleft()
        try:
            finish()
        except BaseException as error:
            self._error = error
            self._steps.clear()
            raise


def current_deferral() -> Deferral | None:
    """Return the deferral in whose block the thread is; None where calls are waited for."""
    found: Any = getattr(_thread, "current", None)
    return found


def after(function: Callable[[], object]) -> None:
    """Call a function behind the calls that the thread has begun: now, where none is deferred."""
    left = current_deferral()
    if left is None:
        function()
    else:
        left.add(lambda: True, function)
