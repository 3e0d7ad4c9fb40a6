"""Ordinary tensors among those in parts: where they are taken for ones that are whole in each process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from ...autograd.engine import is_running

__all__ = ["are_whole", "run_composite", "taken_as_whole"]

_taken: Final[ContextVar[bool]] = ContextVar("torchlike.placed_ordinary", default=False)


def are_whole() -> bool:
    """Return whether they are taken: in backward, in operators that are made of others, and in `taken_as_whole`."""
    return _taken.get() or is_running()


@contextmanager
def taken_as_whole() -> Iterator[None]:
    """Take ordinary tensors in this block."""
    before = _taken.get()
    try:
        _taken.set(True)  # in here, so that an interrupt after it does not leave it on
        yield
    finally:
        _taken.set(before)


def run_composite(composite: Any, values: Sequence[Any]) -> Any:
    """Run an operator that is made of others: the ordinary tensors that it makes are the same in each process."""
    with taken_as_whole():
        return composite(*values)
