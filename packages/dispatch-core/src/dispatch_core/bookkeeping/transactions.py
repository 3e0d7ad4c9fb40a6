"""Transactions over registrations: one that fails half way leaves nothing behind.

Every registration, in any registry or table of the process, says by `on_rollback` how to undo itself. Inside a
`transaction` of the same thread or task these functions are kept, and run newest first when the block raises. Outside of
one they are dropped.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ..interrupts import by_subscript
from .levels import Level

if TYPE_CHECKING:
    from .origins import Origin

T = TypeVar("T")
#: The text of a warning, its class, and the file and line that it is about.
Warned = tuple[str, type[Warning], str, int]


class Transaction:
    """The registrations of one block, and the distribution that they belong to."""

    __slots__ = ("distribution", "level", "registered", "undo", "warned")

    def __init__(self, distribution: tuple[str, str] | None, level: Level) -> None:
        #: The distribution that registers and its version, or None when it is to be found from the file.
        self.distribution = distribution
        self.level = level
        self.undo: list[Callable[[], None]] = []
        #: The operators (None for fallbacks), each with the registration.
        self.registered: list[tuple[Any, Any]] = []
        self.warned: list[Warned] = []


_current: Final[ContextVar[Transaction | None]] = ContextVar("dispatch_core.bookkeeping.transactions", default=None)
_set_current: Final = by_subscript(_current.set)
current: Final = _current.get


def on_rollback(undo: Callable[[], None], registered: tuple[Any, Any] | None = None) -> None:
    """Keep ``undo``, and an operator with its registration, for the transaction under way, if any."""
    under_way = _current.get()
    if under_way is not None:
        under_way.undo.append(undo)
        if registered is not None:
            under_way.registered.append(registered)


def run_outside(act: Callable[[], T]) -> T:
    """Call ``act`` outside of the transaction under way, whose failure does not undo it, and return its result."""
    return Context().run(act)


def current_level() -> Level:
    """Return the level of registrations that are made now."""
    under_way = _current.get()
    return Level.PROGRAM if under_way is None else under_way.level


def warn(text: str, category: type[Warning], place: Origin) -> None:
    """Warn about the line ``place``; while a backend loads, once it has loaded, so that no filter can make it fail."""
    under_way = _current.get()
    found = (text, category, place.file, place.line)
    if under_way is None or under_way.level is Level.PROGRAM:
        issue([found])
    else:
        under_way.warned.append(found)


def issue(warned: list[Warned]) -> None:
    """Issue warnings that were kept."""
    for found in warned:
        warnings.warn_explicit(*found)


@contextmanager
def transaction(
    *,
    distribution: tuple[str, str] | None = None,
    level: Level | None = None,
    warned: list[Warned] | None = None,
) -> Iterator[Transaction]:
    """Undo every registration made in this block, by this thread or task, when the block raises.

    Transactions nest: an inner one that succeeds becomes part of the outer one, and is of no higher level. Warnings are
    issued at the end, or handed over in ``warned``.
    """
    outer = _current.get()
    if outer is not None:
        distribution = distribution or outer.distribution
    highest = Level.PROGRAM if outer is None else outer.level
    own = Transaction(distribution, highest if level is None else min(level, highest))
    token = _set_current[own]
    try:
        yield own
    except BaseException:
        for undo in reversed(own.undo):
            undo()
        raise
    else:
        if outer is not None:
            outer.undo.extend(own.undo)
            outer.registered.extend(own.registered)
        if warned is None and outer is not None:
            warned = outer.warned
        if warned is not None:
            warned.extend(own.warned)
    finally:
        _current.reset(token)
    if warned is None:
        issue(own.warned)
