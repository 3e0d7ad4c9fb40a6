"""Transactions over registrations: what fails half way leaves nothing behind.

Note [The journal]
    Every registration, in any registry or table of the process, records how to undo itself. Inside a `transaction` of the
    same thread or task these are kept, and run newest first when the block raises. Outside of one they are dropped.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar
from typing import TYPE_CHECKING, Any, Final, TypeVar

from .interrupts import by_subscript
from .levels import Level

if TYPE_CHECKING:
    from .operators.registration import Origin

__all__ = ["give", "level", "outside", "record", "transaction", "warn"]

T = TypeVar("T")
#: The text of a warning, its class, and the file and line that it is about.
Warned = tuple[str, type[Warning], str, int]


class Journal:
    """The registrations of one transaction, with whom they belong to."""

    __slots__ = ("distribution", "level", "made", "undo", "warned")

    def __init__(self, distribution: tuple[str, str] | None, level: Level) -> None:
        #: The distribution that registers and its version, or None when it is to be found from the file.
        self.distribution = distribution
        self.level = level
        self.undo: list[Callable[[], None]] = []
        #: The operators (None for fallbacks) and what was registered for them.
        self.made: list[tuple[Any, Any]] = []
        self.warned: list[Warned] = []


_journal: Final[ContextVar[Journal | None]] = ContextVar("dispatch_core.transactions", default=None)
_set_journal: Final = by_subscript(_journal.set)
current: Final = _journal.get


def record(undo: Callable[[], None], made: tuple[Any, Any] | None = None) -> None:
    """Keep ``undo``, and the operator and registration that were ``made``, for the transaction under way, if any."""
    journal = _journal.get()
    if journal is not None:
        journal.undo.append(undo)
        if made is not None:
            journal.made.append(made)


def outside(act: Callable[[], T]) -> T:
    """Return what ``act`` returns, done outside of the transaction under way: for what is not part of it."""
    return Context().run(act)


def level() -> Level:
    """Return the level of what is registered now."""
    journal = _journal.get()
    return Level.PROGRAM if journal is None else journal.level


def warn(text: str, category: type[Warning], place: Origin) -> None:
    """Warn about the line ``place``; while a backend loads, once it has loaded, so that no filter can make it fail."""
    journal = _journal.get()
    found = (text, category, place.file, place.line)
    if journal is None or journal.level is Level.PROGRAM:
        give([found])
    else:
        journal.warned.append(found)


def give(warned: list[Warned]) -> None:
    """Give warnings that were kept."""
    for found in warned:
        warnings.warn_explicit(*found)


@contextmanager
def transaction(
    *,
    distribution: tuple[str, str] | None = None,
    level: Level | None = None,
    warned: list[Warned] | None = None,
) -> Iterator[Journal]:
    """Undo every registration made in this block, by this thread or task, when the block raises.

    Transactions nest: an inner one that succeeds becomes part of the outer one, and is of no higher level. Warnings are
    given at the end, or handed over in ``warned``.
    """
    outer = _journal.get()
    if outer is not None:
        distribution = distribution or outer.distribution
    highest = Level.PROGRAM if outer is None else outer.level
    journal = Journal(distribution, highest if level is None else min(level, highest))
    token = _set_journal[journal]
    try:
        yield journal
    except BaseException:
        for undo in reversed(journal.undo):
            undo()
        raise
    else:
        if outer is not None:
            outer.undo.extend(journal.undo)
            outer.made.extend(journal.made)
        if warned is None and outer is not None:
            warned = outer.warned
        if warned is not None:
            warned.extend(journal.warned)
    finally:
        _journal.reset(token)
    if warned is None:
        give(journal.warned)
