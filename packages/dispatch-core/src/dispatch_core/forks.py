"""Locks that no thread holds for ever in a forked process.

Note [Before a fork]
    A forked process has one thread. A lock that another one held at the fork stays locked there, and its state may be half
    changed. So the thread that forks takes all locks first, in one order: those under which others are taken come
    first. Both processes let them go again. A lock that is not free within `SECONDS`, because a plugin takes long to load or
    a kernel to run, is unlocked in the child, and its owner makes the guarded state again there.

Note [Imports under way]
    The same goes for the locks of modules. Imports of other threads at the fork are repeated in the child.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from enum import IntEnum
from functools import partial
from threading import get_ident
from typing import Any, Final, TypeAlias

__all__ = ["FIRST", "Order", "forkable"]

#: How long a fork waits for the locks, all together.
SECONDS: Final = 0.5


class Order(IntEnum):
    """Which locks are taken before others."""

    LOADING = 0
    REGISTRY = 1
    TABLE = 2
    GENERATOR = 3
    MEMORY = 4


#: A lock's owner, and the owner's method for a child that could not have the lock.
_Owned: TypeAlias = "tuple[weakref.ref[Any], Callable[[Any], None]]"
#: id → a lock, when it is taken, and its owner.
_watched: Final[dict[int, tuple[weakref.ref[Any], Order, _Owned | None]]] = {}
#: Functions that give further locks, which are taken before all others.
FIRST: Final[list[Callable[[], Iterable[Any]]]] = []
#: thread that forks → the locks that it has taken, and the others.
_forking: Final[dict[int, tuple[list[Any], list[tuple[Any, Any]]]]] = {}


def forkable(order: Order, remake: Callable[[], None] | None = None) -> threading.RLock:
    """Return a reentrant lock; see Note [Before a fork].

    ``remake`` is a method that is called in a child that could not have the lock.

    >>> with forkable(Order.MEMORY):
    ...     pass
    """
    lock = threading.RLock()
    number = id(lock)
    owned: _Owned | None = None if remake is None else (weakref.ref(remake.__self__), remake.__func__)  # type: ignore[attr-defined]  # a method
    # See Note [Where an array dies] in `interrupts`.
    _watched[number] = (weakref.ref(lock, partial(_watched.pop, number)), order, owned)
    return lock


def _take() -> None:
    """Take the locks, as far as that can be; see Note [Before a fork]."""
    until = time.monotonic() + SECONDS
    taken: list[Any] = []
    missing: list[tuple[Any, Any]] = []
    _forking[get_ident()] = taken, missing
    locks: list[tuple[Any, Any]] = [(lock, None) for give in FIRST for lock in give()]
    for reference, _, remake in sorted(_watched.values(), key=lambda each: each[1]):
        if (lock := reference()) is not None:
            locks.append((lock, remake))
    for lock, remake in locks:
        if lock.acquire(timeout=max(0.0, until - time.monotonic())):
            taken.append(lock)
        else:
            missing.append((lock, remake))


def _give() -> None:
    taken, _ = _forking.pop(get_ident(), ((), ()))
    for lock in reversed(taken):
        lock.release()


def _give_in_child() -> None:
    _, missing = _forking.get(get_ident(), ((), ()))
    for lock, _ in missing:
        lock._at_fork_reinit()
    _give()
    _forking.clear()
    _forget_imports()
    for _, remake in missing:
        if remake is not None and (owner := remake[0]()) is not None:
            remake[1](owner)


def _forget_imports() -> None:
    """Remove modules that another thread was importing, so that they are imported again; see Note [Imports under way]."""
    locks = getattr(sys.modules.get("_frozen_importlib"), "_module_locks", {})
    for name, reference in list(locks.items()):
        owner = getattr(reference(), "owner", None)
        if owner not in (None, get_ident()):
            locks.pop(name, None)
            if getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False):
                del sys.modules[name]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_take, after_in_parent=_give, after_in_child=_give_in_child)
