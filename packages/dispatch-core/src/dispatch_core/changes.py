"""Callbacks for changes that make kept answers invalid.

What keeps answers about registrations (tables, runners, warnings) says here how to drop them; who changes something calls
`changed` or `refreshed` and needs to know none of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

__all__ = ["changed", "on_change", "on_refresh", "refreshed"]

Callback = TypeVar("Callback", bound=Callable[[], object])
_ON_CHANGE: Final[list[Callable[[], object]]] = []
_ON_REFRESH: Final[list[Callable[[], object]]] = []


def on_change(callback: Callback) -> Callback:
    """Call ``callback`` whenever answers about registrations may have changed in every registry."""
    _ON_CHANGE.append(callback)
    return callback


def on_refresh(callback: Callback) -> Callback:
    """Call ``callback`` when the installed plugins and the environment variables are read again."""
    _ON_REFRESH.append(callback)
    return callback


def changed() -> None:
    """Drop the kept answers about registrations."""
    for callback in _ON_CHANGE:
        callback()


def refreshed() -> None:
    """Drop the kept answers about plugins and environment variables, and those about registrations."""
    for callback in _ON_REFRESH:
        callback()
    changed()
