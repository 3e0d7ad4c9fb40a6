"""Collectives by MPI: non-blocking calls, polled up to the group's time limit.

Under ``mpirun --with-ft ulfm`` a rank that is gone is an error at every other: whichever notices revokes the communicator,
and each asks it which ranks have failed. (source: chapter "Process fault tolerance" of the ULFM proposal.)
"""

from __future__ import annotations

import os
import secrets
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from time import monotonic, sleep
from typing import Any, Final

import numpy as np
from mpi4py import MPI

from dispatch_aten.collectives import (
    KEY_VARIABLE,
    CollectiveError,
    ProcessGroup,
    RankLostError,
    TCPStore,
    current_deferral,
)

from ..arrays import Array
from .connection import Connection, wait_for

__all__ = ["MpiConnection", "connect", "open_store"]

_OPERATIONS: Final = {
    "sum": MPI.SUM,
    "product": MPI.PROD,
    "min": MPI.MIN,
    "max": MPI.MAX,
    "band": MPI.BAND,
    "bor": MPI.BOR,
    "bxor": MPI.BXOR,
}
#: How many seconds MPI and the store may take to tell which rank is gone.
_PATIENCE: Final = 2.0
_PAUSE: Final = 0.01
#: The greatest number by which every MPI can tell calls apart.
_GREATEST_TAG: Final = 32767


def open_store(timeout: float) -> TCPStore:
    """Return a store of all processes: on the loopback where they are on one machine, else on rank 0's by its name.

    Rank 0 draws the key, where the environment has none, and tells it and the port by MPI.
    """
    world = MPI.COMM_WORLD
    machine = world.Split_type(MPI.COMM_TYPE_SHARED)
    is_one, is_master = machine.size == world.size, world.rank == 0
    machine.Free()
    is_one = world.allreduce(is_one, MPI.LAND)
    place = None
    if is_master:
        key = os.environ.get(KEY_VARIABLE, "") or secrets.token_hex()
        host = "127.0.0.1" if is_one else MPI.Get_processor_name()
        os.environ[KEY_VARIABLE] = key
        store = TCPStore(host, 0, is_master=True, timeout=timeout)
        place = host, store.port, key
    host, port, key = world.bcast(place)
    if is_master:
        return store
    os.environ[KEY_VARIABLE] = key
    return TCPStore(host, port, timeout=timeout)


def connect(group: ProcessGroup) -> MpiConnection:
    """Return a communicator of a group's processes, all of which call this."""
    world = MPI.COMM_WORLD
    places = [int(each) for each in group.gather_bytes("mpi", b"%d" % world.rank)]
    members = world.group.Incl(places)
    try:
        return MpiConnection(group, world.Create_group(members, zlib.crc32(group.name.encode()) % _GREATEST_TAG))
    except MPI.Exception as error:
        raise RankLostError(group.find_lost(_PATIENCE), f"group {group.name!r} cannot connect: {error}") from error
    finally:
        members.Free()


class MpiConnection(Connection):
    """A communicator of a group."""

    def __init__(self, group: ProcessGroup, communicator: Any) -> None:
        super().__init__(group)
        self._communicator = communicator
        communicator.Set_errhandler(MPI.ERRORS_RETURN)
        #: The error after which nothing works, and what unfinished calls still read and write.
        self._failure: CollectiveError | None = None
        self._kept: list[Any] = []

    def close(self) -> None:
        """Free the communicator, unless it has failed."""
        super().close()
        communicator, self._communicator = self._communicator, None
        if communicator is not None and self._failure is None:
            with suppress(MPI.Exception):
                communicator.Free()

    def _combine(self, name: str, array: Array, reduction: str, into: Array) -> None:
        operation = _OPERATIONS[reduction]
        if name == "all_reduce":
            given = MPI.IN_PLACE if array.ctypes.data == into.ctypes.data else array
            self._run(name, lambda made: [made.Iallreduce(given, into, operation)], array, into)
        else:
            self._run(name, lambda made: [made.Ireduce_scatter_block(array, into, operation)], array, into)

    def _all_gather(self, array: Array, into: Array) -> None:
        given, taken = _as_bytes(array), _as_bytes(into)
        self._run("all_gather", lambda made: [made.Iallgather(given, taken)], array, into)

    def _broadcast(self, into: Array, root: int) -> None:
        given = _as_bytes(into)
        self._run("broadcast", lambda made: [made.Ibcast(given, root)], into)

    def _exchange(self, sends: Sequence[tuple[Array, int]], receives: Sequence[tuple[Array, int]]) -> None:
        def start(made: Any) -> list[Any]:
            taken = [made.Irecv(_as_bytes(array), rank) for array, rank in receives]
            return [*taken, *(made.Isend(_as_bytes(array), rank) for array, rank in sends)]

        self._run("exchange", start, sends, receives)

    def _run(self, name: str, start: Callable[[Any], list[Any]], *kept: Any) -> None:
        """Start calls, and wait for them unless they are deferred; ``kept`` has the arrays that they read and write."""
        if self._failure is not None:
            raise self._failure
        if self._communicator is None:
            raise CollectiveError(f"the communicator of group {self.group.name!r} was closed")
        requests: list[Any] = []
        self._kept.append((requests, kept))
        try:
            requests += start(self._communicator)
        except MPI.Exception as error:
            raise self._fail(name, error) from error
        left = current_deferral()
        if left is None:
            self._finish(name, requests)
        else:
            left.add(partial(self._is_done, requests), partial(self._finish, name, requests))

    def _is_done(self, requests: list[Any]) -> bool:
        """Return whether calls are done; those that have failed are, too."""
        try:
            return all(each.Test() for each in requests)
        except MPI.Exception as error:
            self._fail("a collective", error)
            return True

    def _finish(self, name: str, requests: list[Any]) -> None:
        if self._failure is not None:
            raise self._failure
        try:
            wait_for(self.group, lambda: all(each.Test() for each in requests), name)
        except MPI.Exception as error:
            raise self._fail(name, error) from error
        except CollectiveError as error:
            self._failure = error
            self._revoke()
            raise
        self._kept = [each for each in self._kept if each[0] is not requests]

    def _fail(self, name: str, error: MPI.Exception) -> CollectiveError:
        self._failure = self._explain(name, error)
        return self._failure

    def abandon(self) -> None:
        """Make the calls of all other ranks fail, because this one has."""
        if self._communicator is not None and self._failure is None:
            self._revoke()

    def _revoke(self) -> None:
        """Make the calls of all other ranks fail, so that they look for the reason."""
        with suppress(MPI.Exception, NotImplementedError):
            self._communicator.Revoke()

    def _explain(self, name: str, error: MPI.Exception) -> CollectiveError:
        """Return an error that names the ranks that are gone."""
        self._revoke()
        deadline = monotonic() + _PATIENCE
        what = f"{name} of group {self.group.name!r} has failed: {error}"
        if error.Get_error_class() == MPI.ERR_TRUNCATE:
            return CollectiveError(what, hint="all ranks call the same function, with the same shapes and dtypes")
        while not (lost := self._find_failed() or self.group.find_lost()) and monotonic() < deadline:
            sleep(_PAUSE)
        if lost:
            return RankLostError(lost, what)
        return CollectiveError(what, hint="another rank has given up, which its own error explains")

    def _find_failed(self) -> list[int]:
        """Return the ranks that MPI knows to be gone, by their numbers among all."""
        with suppress(MPI.Exception, NotImplementedError):
            failed = self._communicator.Get_failed()
            found = MPI.Group.Translate_ranks(failed, list(range(failed.size)), self._communicator.group)
            return [self.group.ranks[each] for each in found]
        return []


def _as_bytes(array: Array) -> list[Any]:
    """Return the memory of an array, whatever its numbers are."""
    return [array.reshape(-1).view(np.uint8), MPI.BYTE]
