"""Transactions over registrations: what fails half way leaves nothing behind.

Note [The journal]
    Every registration, in any registry or table of the process, records how to undo itself. Inside a `transaction` of the
    same thread or task these are kept, and run newest first when the block raises. Outside of one they are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

__all__ = ["record", "transaction"]


class Journal:
    """The registrations of one transaction, with whom they belong to."""

    __slots__ = ("allow_overwrite", "distribution", "undo")

    def __init__(self, distribution: tuple[str, str] | None, *, allow_overwrite: bool) -> None:
        #: The distribution that registers and its version, or None when it is to be found from the file.
        self.distribution = distribution
        #: Whether a kernel that another distribution registered may be replaced.
        self.allow_overwrite = allow_overwrite
        self.undo: list[Callable[[], None]] = []


_journal: Final[ContextVar[Journal | None]] = ContextVar("dispatch_core.journal", default=None)
current: Final = _journal.get


def record(undo: Callable[[], None]) -> None:
    """Keep ``undo`` for the transaction under way, if there is one."""
    journal = _journal.get()
    if journal is not None:
        journal.undo.append(undo)


@contextmanager
def transaction(*, distribution: tuple[str, str] | None = None, allow_overwrite: bool = True) -> Iterator[None]:
    """Undo every registration made in this block, by this thread or task, when the block raises.

    Transactions nest: an inner one that succeeds becomes part of the outer one, and is bound by its restrictions.
    """
    outer = _journal.get()
    if outer is not None:
        distribution = distribution or outer.distribution
        allow_overwrite = allow_overwrite and outer.allow_overwrite
    journal = Journal(distribution, allow_overwrite=allow_overwrite)
    token = _journal.set(journal)
    try:
        yield
    except BaseException:
        for undo in reversed(journal.undo):
            undo()
        raise
    else:
        if outer is not None:
            outer.undo.extend(journal.undo)
    finally:
        _journal.reset(token)
