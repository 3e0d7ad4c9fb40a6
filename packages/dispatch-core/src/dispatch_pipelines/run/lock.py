"""A reentrant lock that avoids deadlock between the pipelines of several threads.

Note [Threads that wait in a cycle]
    A kernel may ask for a value of another thread's pipeline while that thread's kernel asks for one of this one's. Two
    ordinary locks would deadlock. The last thread to come sees that the holder is itself waiting, directly or through
    others, for a lock of this thread: the holder can do nothing until this thread is done. So this thread goes ahead in
    the holder's place, as the holder itself could do by entering again.
"""

from __future__ import annotations

import threading
from threading import get_ident
from types import TracebackType
from typing import Any, Final

#: Held while a thread decides whether to wait, so that of several that would close a cycle only one goes ahead.
_deciding = threading.RLock()
#: thread → the lock that it is waiting for.
_waiting: Final[dict[int, PipelineLock]] = {}


#: Make a reentrant lock; `threading` only calls this.
_make_lock: Final[type[Any]] = type(threading.RLock())


class PipelineLock:
    """A reentrant lock; see Note [Threads that wait in a cycle]."""

    __slots__ = ("_depth", "_holder", "_lock", "_suspended")

    def __init__(self) -> None:
        # Reentrant itself, so that an interrupt at a bad moment does not let a thread wait for itself.
        self._lock = _make_lock()
        #: The thread that holds the lock, or 0.
        self._holder = 0
        self._depth = 0
        #: Holders that wait while another goes ahead in their place, with their depths.
        self._suspended: list[tuple[int, int]] = []

    def __enter__(self) -> None:
        me = get_ident()
        if self._holder == me:
            self._depth += 1
            return
        if self._lock.acquire(blocking=False) or self._wait(me):
            self._holder, self._depth = me, 1
            return
        self._suspended.append((self._holder, self._depth))
        self._holder, self._depth = me, 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._depth -= 1
        if self._depth:
            return
        if self._suspended:
            self._holder, self._depth = self._suspended.pop()
        else:
            self._holder = 0
            self._lock.release()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Take the lock as another lock is taken; return whether that was possible."""
        me = get_ident()
        if self._holder == me:
            self._depth += 1
        elif self._lock.acquire(blocking, timeout):
            self._holder, self._depth = me, 1
        else:
            return False
        return True

    def release(self) -> None:
        """Release the lock."""
        self.__exit__(None, None, None)

    def _at_fork_reinit(self) -> None:
        """Do nothing in a forked process: the session asks by `take_from_others` whether another thread held the lock."""

    def _wait(self, me: int) -> bool:
        """Wait for the lock; False, at once, where its holder waits for this thread."""
        with _deciding:
            if self._is_waiting_for(me):
                return False
            _waiting[me] = self
        try:
            return self._lock.acquire()
        finally:
            del _waiting[me]

    def _is_waiting_for(self, me: int) -> bool:
        lock: PipelineLock | None = self
        seen = set()
        while lock is not None and lock._holder not in seen:
            if lock._holder == me:
                return True
            seen.add(lock._holder)
            lock = _waiting.get(lock._holder)
        return False

    def take_from_others(self) -> bool:
        """Free the lock in a forked process, which has one thread; return whether another one held it."""
        others = self._holder not in (0, get_ident())
        if others:
            self._holder = self._depth = 0
        self._lock = threading.RLock()
        if self._holder:
            self._lock.acquire()
        self._suspended.clear()
        return others


def forget_others() -> None:
    """Forget in a forked process which threads were waiting."""
    global _deciding
    _deciding = threading.RLock()
    _waiting.clear()
