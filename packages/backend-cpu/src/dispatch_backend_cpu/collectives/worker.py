"""A thread that runs functions one after the other, and what is called in it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from queue import SimpleQueue
from typing import Any, Final

__all__ = ["CallThread", "ThreadCall"]


class ThreadCall:
    """A function that a thread calls."""

    __slots__ = ("_error", "_function", "_pending", "_result")

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function: Callable[[], Any] | None = function
        self._error: BaseException | None = None
        self._result: Any = None
        #: A lock is far cheaper than a condition; it is held until the function has returned.
        self._pending: Final = threading.Lock()
        self._pending.acquire()

    def run(self) -> None:
        """Call the function, and keep its result or its error."""
        function, self._function = self._function, None
        try:
            self._result = function() if function is not None else None
        except BaseException as error:  # noqa: BLE001  # the thread that waits raises it
            self._error = error
        self._pending.release()

    def is_done(self) -> bool:
        """Return whether the function has returned, or raised."""
        return not self._pending.locked()

    def wait(self, seconds: float) -> bool:
        """Wait for some seconds; return whether the function has returned, or raised."""
        if not self._pending.acquire(timeout=seconds):
            return False
        self._pending.release()
        return True

    def result(self) -> Any:
        """Return the result of the function. Raises its error."""
        if self._error is not None:
            raise self._error
        return self._result


class CallThread:
    """A thread that runs functions one after the other, within a context; a process ends without waiting for it."""

    def __init__(self, name: str, context: Callable[[], AbstractContextManager[Any]]) -> None:
        self._queue: SimpleQueue[ThreadCall | None] = SimpleQueue()
        threading.Thread(target=self._work, args=(context,), name=name, daemon=True).start()

    def call(self, function: Callable[[], Any]) -> ThreadCall:
        """Call a function in the thread."""
        made = ThreadCall(function)
        self._queue.put(made)
        return made

    def end(self) -> None:
        """End the thread once its functions have run."""
        self._queue.put(None)

    def _work(self, context: Callable[[], AbstractContextManager[Any]]) -> None:
        with context():
            while (given := self._queue.get()) is not None:
                given.run()
                del given
