"""Failures that no call can answer for: those of functions that destroy something, or that only make calls cheaper.

They are told as warnings, once for each function and code for as long as the runtime is open. What destroys first destroys
everything and tells afterwards, so that a program that turns warnings into errors leaves nothing behind.
"""

from __future__ import annotations

import warnings
from collections import deque
from typing import Final

from .errors import AclWarning
from .library import bind, recent_message

__all__ = ["destroy", "forget", "note", "report", "tell"]

_noted: Final[deque[AclWarning]] = deque()
_known: Final[set[tuple[str, int]]] = set()


def note(function: str, code: int) -> None:
    """Keep a failure for the next ``tell``, if it is the first of its kind."""
    # What the toolkit says of it is no later failure's, whether it is told or not.
    message = recent_message()
    if (function, code) not in _known:
        _known.add((function, code))
        _noted.append(AclWarning(function, code, message))


def tell() -> None:
    """Warn of every failure that was noted."""
    while _noted:
        try:
            warning = _noted.popleft()
        except IndexError:  # Another thread was faster.
            return
        warnings.warn(warning, stacklevel=2)


def report(function: str, code: int) -> None:
    """Warn of a failure, if it is the first of its kind."""
    note(function, code)
    tell()


def destroy(function: str, handle: object) -> None:
    """Destroy what a handle stands for; a failure is noted."""
    code = bind(function)(handle)
    if code:
        note(function, code)


def forget() -> None:
    """Let failures be told once more: the runtime was closed."""
    _known.clear()
