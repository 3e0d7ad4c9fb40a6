"""Callbacks for changes that invalidate cached answers.

Modules that cache answers about registrations (tables, runners, warnings) say here how to drop them. A module that changes
registrations calls `notify_change` or `notify_refresh` and knows none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

Callback = TypeVar("Callback", bound=Callable[[], object])
_ON_CHANGE: Final[list[Callable[[], object]]] = []
_ON_REFRESH: Final[list[Callable[[], object]]] = []
_ON_DEVICES: Final[list[Callable[[Iterable[str]], object]]] = []


def on_change(callback: Callback) -> Callback:
    """Call ``callback`` whenever answers about registrations may have changed in every registry."""
    _ON_CHANGE.append(callback)
    return callback


def on_refresh(callback: Callback) -> Callback:
    """Call ``callback`` when the installed plugins and the environment variables are read again."""
    _ON_REFRESH.append(callback)
    return callback


def notify_change() -> None:
    """Drop the cached answers about registrations."""
    for callback in _ON_CHANGE:
        callback()


def notify_refresh() -> None:
    """Drop the cached answers about plugins and environment variables, and those about registrations."""
    for callback in _ON_REFRESH:
        callback()
    notify_change()


def on_devices(callback: Callable[[Iterable[str]], object]) -> None:
    """Call ``callback`` with the names of devices: those of accelerators when they are found, others when loaded."""
    _ON_DEVICES.append(callback)


def notify_devices(names: Iterable[str]) -> None:
    """Tell the names of devices that have been found or loaded."""
    for callback in _ON_DEVICES:
        callback(names)
