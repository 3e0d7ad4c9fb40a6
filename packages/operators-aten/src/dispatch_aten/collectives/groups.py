"""Groups of processes that work together, and what the device of each has opened for them."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable
from time import monotonic, sleep
from typing import Any, Final

import dispatch_core as dc
from dispatch_core.runtime import run_at_once
from dispatch_core.tools import find_interface

from .errors import CollectiveError

__all__ = ["ProcessGroup", "barrier", "connection_of", "engine_of"]

_PAUSE: Final = 0.02


class ProcessGroup:
    """Processes with a number each: the ``rank`` of this one, and their number, ``size``.

    ``store`` is a `TCPStore`, or anything with its methods, of all of them; a group of one process needs none. ``name`` is
    the same in all processes and of no other group, ``backend`` the library's name where a program has asked for one,
    ``timeout`` how many seconds the processes wait for each other, and ``ranks`` the numbers of the group's ranks among all.

    >>> alone = ProcessGroup()
    >>> alone.rank, alone.size, alone.share("port", lambda: b"29500")
    (0, 1, b'29500')
    """

    def __init__(
        self,
        rank: int = 0,
        size: int = 1,
        store: Any = None,
        name: str = "default",
        backend: str = "",
        timeout: float = 300.0,
        ranks: Iterable[int] | None = None,
    ) -> None:
        if not 0 <= rank < size:
            raise CollectiveError(f"there is no rank {rank} in a group of {size}")
        if store is None and size > 1:
            raise CollectiveError("the processes of a group find each other by a store, and none was given")
        self.rank, self.size, self.store, self.name = rank, size, store, name
        self.backend, self.timeout = backend, timeout
        self.ranks = tuple(range(size) if ranks is None else ranks)
        self._lock = threading.RLock()
        #: Device → its engine, and what that has opened for the group; None once the group was closed.
        self._connections: dict[dc.Device, tuple[Any, Any]] | None = {}
        #: The numbers of keys; the thread in which an engine connects draws them, too, while `_lock` is held.
        self._shared = itertools.count(1)

    def share(self, what: str, make: Callable[[], bytes]) -> bytes:
        """Return the bytes that rank 0 makes: its function is called, the others wait for it.

        All ranks call this in the same order. Raises ``CollectiveError`` where rank 0 has not made them.
        """
        if self.store is None:
            return make()
        key = self._next_key(what)
        if self.rank:
            found: bytes = self.store.get(key, self.timeout)
            if found[:1] != b"+":
                raise CollectiveError(f"rank 0 of group {self.name!r} has failed: {found[1:].decode(errors='replace')}")
            return found[1:]
        try:
            made = make()
        except BaseException as error:
            self.store.set(key, f"-{error}".encode())
            raise
        self.store.set(key, b"+" + made)
        return made

    def gather_bytes(self, what: str, data: bytes) -> list[bytes]:
        """Return the bytes of all ranks, in their order; all call this in the same order. Raises as the store does."""
        if self.store is None:
            return [data]
        key = self._next_key(what)
        self.store.set(f"{key}/{self.rank}", data)
        return [self.store.get(f"{key}/{each}", self.timeout) for each in range(self.size)]

    def meet(self, what: str = "meeting") -> None:
        """Wait until all ranks have come here. Raises as the store does, for a rank that is gone, and when time is over."""
        if self.store is None:
            return
        key = self._next_key(what)
        if self.store.add(f"{key}/here", 1) == self.size:
            self.store.set(f"{key}/all", b"1")
        self.store.wait([f"{key}/all"], self.timeout)

    def find_lost(self, patience: float = 0.0) -> tuple[int, ...]:
        """Return the ranks that the store knows to be gone, looking for some seconds."""
        if self.store is None:
            return ()
        deadline = monotonic() + patience
        while True:
            found: tuple[int, ...] = self.store.lost_ranks()
            if found or monotonic() >= deadline:
                return found
            sleep(_PAUSE)

    def close(self) -> None:
        """Give back what devices have opened for the group; its collectives are refused from then on."""
        with self._lock:
            connections, self._connections = self._connections or {}, None
        for engine, connection in connections.values():
            if hasattr(engine, "close"):
                engine.close(connection)

    def _next_key(self, what: str) -> str:
        return f"{self.name}/{next(self._shared)}/{what}"

    def __repr__(self) -> str:
        return f"ProcessGroup(rank={self.rank}, size={self.size}, name={self.name!r}, backend={self.backend!r})"


def engine_of(device: str) -> Any:
    """Return what a device exchanges data with other processes by. Raises ``BackendError`` for one that has nothing."""
    interface = find_interface(device)
    interface.require(device, "collectives")
    return interface.collectives


def connection_of(group: ProcessGroup, device: dc.Device) -> tuple[Any, Any]:
    """Return the engine of a device, and what it has opened for a group; it is opened at the first need, by all ranks."""
    device = dc.Device(device.type, device.index or 0)
    with group._lock:
        if group._connections is None:
            raise CollectiveError(f"group {group.name!r} was closed")
        found = group._connections.get(device)
        if found is None:
            engine = engine_of(device.type)
            found = group._connections[device] = (engine, engine.connect(group, device.index))
        return found


def barrier(group: ProcessGroup) -> None:
    """Wait until all ranks have come here; work that devices do for the group later waits for that of all ranks.

    Recorded calls run before. Raises ``CaptureError`` in a captured function: a replay would not wait.
    """
    if group.store is None:
        return
    with run_at_once("barrier"):
        group.meet("barrier")
        for engine, connection in [*(group._connections or {}).values()]:
            if hasattr(engine, "barrier"):
                engine.barrier(connection)
