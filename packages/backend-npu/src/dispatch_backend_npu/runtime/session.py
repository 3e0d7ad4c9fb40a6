"""The objects that the open runtime owns for its devices, and the functions that are called when devices go."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any, Final

from .chips import Chip


class Stage(IntEnum):
    """The order in which functions given to ``at_finalize`` are called: users of a resource before the resource."""

    PLANS = 0
    EVENTS = 1
    STREAMS = 2
    MEMORY = 3


class AclSession:
    """The time from the opening of the runtime to its closing, and the objects of other modules for its devices."""

    __slots__ = (
        "allocators",
        "chip",
        "contexts",
        "events",
        "host",
        "is_blocking",
        "is_ours",
        "peers",
        "references",
        "streams",
    )

    def __init__(self, *, is_ours: bool) -> None:
        #: Whether this package called ``aclInit`` first, and so has to call ``aclFinalize``.
        self.is_ours = is_ours
        self.references = 0
        #: The family of the chips, once one of them was opened.
        self.chip: Chip | None = None
        #: Whether each call is waited for.
        self.is_blocking = False
        #: device → the context that all threads share on it.
        self.contexts: dict[int, int] = {}
        self.allocators: dict[int, Any] = {}
        self.streams: dict[int, Any] = {}
        self.events: dict[int, Any] = {}
        self.host: Any = None
        #: Two devices → whether the first copies to and from the second by itself.
        self.peers: dict[tuple[int, int], bool] = {}

    def end(self) -> None:
        """Mark the remaining streams as closed."""
        for streams in self.streams.values():
            streams.is_open = False


closers: Final[list[tuple[Stage, Callable[[int], None]]]] = []
quarantines: Final[list[Callable[[AclSession, int], None]]] = []


def at_finalize(stage: Stage, close: Callable[[int], None]) -> None:
    """Call ``close(device)`` for every opened device before it is reset, its context being the thread's."""
    closers.append((stage, close))
    closers.sort(key=lambda entry: entry[0])


def at_timeout(quarantine: Callable[[AclSession, int], None]) -> None:
    """Call ``quarantine(session, device)`` when a device has not answered in time."""
    quarantines.append(quarantine)
