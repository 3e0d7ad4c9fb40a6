"""The common part of the engines: reductions of numbers that they lack, and waiting up to the group's time limit."""

from __future__ import annotations

import atexit
import os
import sys
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from time import monotonic, sleep
from typing import Final

import numpy as np

from dispatch_aten.collectives import CollectiveError, ProcessGroup, RankLostError, after
from dispatch_aten.errors import DtypeError

from ..arrays import NARROW, Array, is_extended

__all__ = ["Connection", "wait_for"]

#: For how long a wait only yields the processor before it begins to sleep, and how long it sleeps at most.
_EAGER: Final = 0.002
_LONGEST: Final = 0.001
#: How often a wait asks the store for ranks that are gone.
_ASK: Final = 0.5
#: For how long a process that has failed stays, so that the others are told before a launcher ends them.
_FAREWELL: Final = 1.0
_open: Final[weakref.WeakSet[Connection]] = weakref.WeakSet()


class Connection:
    """An engine's connection of a group. Arrays are row-major, in one piece, and have a dimension at least."""

    def __init__(self, group: ProcessGroup) -> None:
        self.group = group
        if not _open:
            atexit.unregister(_leave)
            atexit.register(_leave, os.getpid())
        _open.add(self)

    def all_reduce(self, array: Array, reduction: str, into: Array) -> Array:
        """Combine the arrays of all ranks."""
        return self._reduce("all_reduce", array, reduction, into)

    def reduce_scatter(self, array: Array, reduction: str, into: Array) -> Array:
        """Combine the arrays of all ranks, and keep this rank's part."""
        return self._reduce("reduce_scatter", array, reduction, into)

    def all_gather(self, array: Array, into: Array) -> Array:
        """Lay the arrays of all ranks behind each other."""
        if array.size:
            self._all_gather(array.copy() if np.may_share_memory(array, into) else array, into)
        return into

    def broadcast(self, array: Array, root: int, into: Array) -> Array:
        """Give all ranks the array of one of them."""
        if array.size:
            if not _is_same(array, into):
                np.copyto(into, array)
            self._broadcast(into, root)
        return into

    def exchange(self, sends: Sequence[tuple[Array, int]], receives: Sequence[tuple[Array, int]]) -> list[Array]:
        """Send arrays and receive others, all at once."""
        # Both sides leave out what has no elements.
        self._exchange(*([each for each in listed if each[0].size] for listed in (sends, receives)))
        return [array for array, _ in receives]

    def close(self) -> None:
        """Give the connection back."""
        _open.discard(self)

    def abandon(self) -> None:
        """Make the other ranks' calls fail, because this one has."""

    def leave(self) -> None:
        """Get ready for the end of the process."""

    def _reduce(self, name: str, array: Array, reduction: str, into: Array) -> Array:
        dtype = array.dtype
        if is_extended(dtype) and dtype not in NARROW:
            raise DtypeError(f"{name} does not take {dtype}", hint="convert the tensor first")
        if not array.size:
            return into
        if dtype not in NARROW:
            self._combine(name, array, reduction, into)
            return into
        # The numbers of 16 bits are added in 32, and rounded once.
        made = np.empty(into.shape, np.float32)
        self._combine(name, array.astype(np.float32), reduction, made)
        after(partial(_narrow, made, into))
        return into

    def _combine(self, name: str, array: Array, reduction: str, into: Array) -> None:
        raise NotImplementedError

    def _all_gather(self, array: Array, into: Array) -> None:
        raise NotImplementedError

    def _broadcast(self, into: Array, root: int) -> None:
        raise NotImplementedError

    def _exchange(self, sends: Sequence[tuple[Array, int]], receives: Sequence[tuple[Array, int]]) -> None:
        raise NotImplementedError


def _narrow(made: Array, into: Array) -> None:
    with np.errstate(all="ignore"):
        np.copyto(into, made, casting="unsafe")


def _is_same(array: Array, into: Array) -> bool:
    return bool(array.ctypes.data == into.ctypes.data)


def wait_for(group: ProcessGroup, is_done: Callable[[], bool], what: str) -> None:
    """Wait until something is done; the processor is yielded at first.

    Raises ``RankLostError`` where the store tells of a rank that is gone, ``CollectiveError`` when the group's time is over.
    """
    started = asked = monotonic()
    deadline, pause = started + group.timeout, 1e-5
    while not is_done():
        now = monotonic()
        if now - started < _EAGER:
            sleep(0)  # the processor is another thread's or process's meanwhile
            continue
        if now - asked > _ASK:
            lost, asked = group.find_lost(), now
            if lost and not is_done():
                raise RankLostError(lost, f"{what} of group {group.name!r} waits for it")
        if now > deadline:
            raise CollectiveError(
                f"{what} of group {group.name!r} was not done within the timeout of {group.timeout:g} s",
                hint="another rank is late, or calls something else; init_process_group(timeout=...) is the limit",
            )
        sleep(pause)
        pause = min(pause * 2, _LONGEST)


def _leave(process: int) -> None:
    """Tell the other ranks that this one ends; after an error do not wait for them, as MPI and JAX do at the end."""
    if os.getpid() != process:
        return
    has_failed = getattr(sys, "last_value", None) is not None
    for each in list(_open):
        with suppress(Exception):  # whatever has failed before
            if has_failed:
                each.group.store.abandon()
                each.abandon()
            else:
                each.group.store.close()
                each.leave()
    if has_failed and _open:
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):  # it may be closed
                stream.flush()
        sleep(_FAREWELL)
        os._exit(1)
