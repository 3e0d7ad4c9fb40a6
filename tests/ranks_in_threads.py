"""Processes of a mesh as threads of one: groups whose collectives are computed between threads.

`run_ranks(shape, function)` calls a function in a thread for each process of a mesh with the mesh as that process sees it.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, ClassVar

import numpy as np

import dispatch_core as dc
from dispatch_aten.collectives import ProcessGroup
from dispatch_aten.placements import DeviceMesh as Mesh
from torchlike.distributed import placed  # noqa: F401  # importing it lets tensors be parts of others
from torchlike.distributed.device_mesh import DeviceMesh

_COMBINE: dict[str, Any] = {"sum": np.add, "product": np.multiply, "min": np.minimum, "max": np.maximum}


#: How many seconds a thread waits for the others.
_PATIENCE = 60.0


class _Meeting:
    """Where the threads of a group lay down what they have, until all have taken it."""

    def __init__(self, count: int) -> None:
        self.barrier = threading.Barrier(count, timeout=_PATIENCE)
        self.values: list[Any] = [None] * count
        #: The messages from one thread to another; a queue made at the first use could be made by both at once.
        self.messages = {pair: queue.Queue[Any]() for pair in product(range(count), repeat=2)}

    def swap(self, rank: int, value: Any) -> list[Any]:
        self.values[rank] = value
        self.barrier.wait()
        found = [*self.values]
        self.barrier.wait()
        return found


class _Engine:
    """Collectives between threads, for arrays of NumPy; a connection is a meeting and a rank."""

    #: The names of the collectives that rank 0 of a group has called.
    calls: ClassVar[list[str]] = []

    def note(self, connection: Any, name: str) -> None:
        if not connection[1]:
            self.calls.append(name)

    def connect(self, group: Any, index: Any) -> Any:
        raise AssertionError("groups of threads are connected when they are made")

    def _give(self, result: np.ndarray, into: Any) -> Any:
        into[...] = result
        return into

    def all_gather(self, connection: Any, array: Any, into: Any) -> Any:
        meeting, rank = connection
        self.note(connection, "all_gather")
        found = meeting.swap(rank, array.copy())
        assert len({each.shape for each in found}) == 1
        return self._give(np.concatenate(found), into)

    def _reduce(self, connection: Any, array: Any, op: str) -> np.ndarray:
        meeting, rank = connection
        found = meeting.swap(rank, array.copy())
        assert len({each.shape for each in found}) == 1
        total = found[0]
        for each in found[1:]:
            total = _COMBINE[op](total, each)
        return total

    def all_reduce(self, connection: Any, array: Any, op: str, into: Any) -> Any:
        self.note(connection, "all_reduce")
        return self._give(self._reduce(connection, array, op), into)

    def reduce_scatter(self, connection: Any, array: Any, op: str, into: Any) -> Any:
        self.note(connection, "reduce_scatter")
        meeting, rank = connection
        return self._give(np.split(self._reduce(connection, array, op), len(meeting.values))[rank], into)

    def broadcast(self, connection: Any, array: Any, root: int, into: Any) -> Any:
        meeting, rank = connection
        return self._give(meeting.swap(rank, array.copy())[root], into)

    def exchange(self, connection: Any, sends: Any, receives: Any) -> list[Any]:
        meeting, rank = connection
        self.note(connection, "exchange")
        for array, to in sends:
            meeting.messages[rank, to].put(np.array(array))
        return [self._give(meeting.messages[source, rank].get(timeout=_PATIENCE), into) for into, source in receives]


class _Group(ProcessGroup):
    def __init__(self, meeting: _Meeting, rank: int) -> None:
        super().__init__(rank, len(meeting.values), store=object())
        self._connections = {dc.Device("cpu", 0): (ENGINE, (meeting, rank))}


ENGINE = _Engine()
#: A mesh and the number of a process → its groups.
_GROUPS: dict[Any, tuple[Any, ...]] = {}


class ThreadMesh(DeviceMesh):
    """A mesh of threads, as that of a number sees it."""

    def __init__(self, ranks: Any, rank: int, names: Any = None) -> None:
        Mesh.__init__(self, "cpu", ranks, mesh_dim_names=names, rank=rank)
        self._key = *self._key, "threads"  # equal to no mesh of processes: plans are kept by their meshes

    def get_group(self, mesh_dim: Any = None) -> Any:
        """Return the group of threads along a dimension."""
        return _GROUPS[self.root, self.get_rank()][self.dims[mesh_dim or 0]]


def run_ranks(shape: Sequence[int], function: Callable[[DeviceMesh], Any], names: Any = None) -> list[Any]:
    """Return what a function returns in each process of a mesh. Raises the first error that is none of the others'."""
    ranks = np.arange(np.prod(shape)).reshape(shape)
    meetings: dict[tuple[int, ...], _Meeting] = {}
    results: list[Any] = [None] * ranks.size
    errors: list[BaseException] = []

    def line(rank: int, dim: int) -> tuple[int, ...]:
        place = tuple(np.argwhere(ranks == rank)[0])
        return tuple(ranks[(*place[:dim], slice(None), *place[dim + 1 :])].tolist())

    for dim in range(ranks.ndim):
        for rank in range(ranks.size):
            found = line(rank, dim)
            meetings.setdefault((dim, *found), _Meeting(len(found)))

    def run(rank: int) -> None:
        mesh = ThreadMesh(ranks, rank, names)
        lines = [line(rank, dim) for dim in range(ranks.ndim)]
        _GROUPS[mesh, rank] = tuple(_Group(meetings[dim, *each], each.index(rank)) for dim, each in enumerate(lines))
        try:
            results[rank] = function(mesh)
        except BaseException as error:  # noqa: BLE001  # the caller raises it
            errors.append(error)
            for each in meetings.values():
                each.barrier.abort()

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(ranks.size)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    for rank in range(ranks.size):
        _GROUPS.pop((ThreadMesh(ranks, rank, names), rank), None)
    if errors:
        raise next((each for each in errors if not isinstance(each, threading.BrokenBarrierError)), errors[0])
    return results
