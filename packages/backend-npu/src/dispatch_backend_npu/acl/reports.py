"""Failures that do not belong to a call: those of functions that destroy an object, or that only make calls cheaper.

They become warnings, one for each function and code while the runtime is open. Everything is destroyed before the first
warning, so that a program that turns warnings into errors leaks nothing.
"""

from __future__ import annotations

import warnings
from collections import deque
from typing import Final

from .errors import AclWarning
from .library import bind, recent_message

_pending: Final[deque[AclWarning]] = deque()
_reported: Final[set[tuple[str, int]]] = set()


def record(function: str, code: int) -> None:
    """Keep a failure for the next ``warn``, if it is the first of its kind."""
    # Reading the message clears it, so that it is not taken for a later failure's.
    message = recent_message()
    if (function, code) not in _reported:
        _reported.add((function, code))
        _pending.append(AclWarning(function, code, message))


def warn() -> None:
    """Warn of every recorded failure."""
    while _pending:
        try:
            warning = _pending.popleft()
        except IndexError:  # Another thread was faster.
            return
        warnings.warn(warning, stacklevel=2)


def report(function: str, code: int) -> None:
    """Warn of a failure, if it is the first of its kind."""
    record(function, code)
    warn()


def destroy(function: str, handle: object) -> None:
    """Destroy the object of a handle; a failure is recorded."""
    code = bind(function)(handle)
    if code:
        record(function, code)


def reset() -> None:
    """Report failures of every kind again, because the runtime was closed."""
    _reported.clear()
