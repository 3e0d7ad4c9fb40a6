"""Runs of a plan as one model (ACL graph), which the runtime does again by one call.

Note [Graphs]
    With ``DISPATCH_NPU_GRAPHS=1`` the second run of a plan whose inputs lie alike is captured: its functions are called on
    memory of the graph's own, on a stream whose work is kept and not done (``aclmdlRICaptureBegin``). A run copies the
    numbers of this run to the graph's memory (Note [Numbers of graphs]), and its inputs (the whole blocks of inputs that
    share one), executes the model, and copies results, and what was written, out of it; no function has a first phase any
    more. Everything that a function got is part of the model. So a plan has graphs only if it consists of views, and of
    functions whose numbers do not change or may be in tensors; `GraphTasks` names the call by which it has none. A graph
    serves one run at a time. Nothing inside waits, allocates, or copies from or to the host.

    Chips 910A and 310B have no captures. Where a capture fails, the plan runs as without it; a record of the logger
    ``dispatch_core.pipelines`` has the reason, and other failures are warnings.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Hashable
from typing import Any, Final

from dispatch_core import BackendError, Program
from dispatch_core.surroundings.logs import Log

from ..acl import reports
from ..acl.constants import ACL_ERROR_RT_FEATURE_NOT_SUPPORT
from ..acl.errors import AclError, OutOfMemoryError
from ..aclnn import pools
from ..aclnn.calls import is_same_scalar
from ..arrays import AclArray
from ..runtime.stream import current
from .captured import Graph, find_shared
from .graph_tasks import GraphTasks, find_obstacle, list_others
from .schedule import Schedule, is_view
from .tasks import NodeTasks

VARIABLE: Final = "DISPATCH_NPU_GRAPHS"
"""The environment variable that asks for graphs."""

_LOG: Final = Log("pipelines")
#: The run of a plan that is captured, and the most ways in which its inputs may lie for which it has graphs.
_CAPTURED: Final = 2
_MOST: Final = 4
#: The most ways that are counted before they are captured.
_SEEN: Final = 64


class Graphs:
    """The graphs of one schedule."""

    def __init__(self, program: Program, schedule: Schedule) -> None:
        self._program = program
        #: Nodes that run their kernels in runs without a graph.
        self.others = {
            index: NodeTasks(index, node, ()) for index, node in list_others(program, schedule.planned).items()
        }
        self._given = schedule.given
        #: The numbers of the last run, by their indices, and those that are not what they were in a run before.
        self._numbers: dict[int, Any] = {value.index: None for value in program.values if value.number is not None}
        self._live: frozenset[int] = frozenset()
        self._has_run = False
        #: What graphs consist of, and where their results lie; None until it is asked for. Numbers that are not in
        #: ``live`` were the same in all runs, so that a graph serves as long as its ``live`` is ours.
        self._parts: tuple[GraphTasks, Schedule] | None = None
        self._runs: Counter[Hashable] = Counter()
        #: The place of inputs → graphs that no run uses.
        self._free: dict[Hashable, list[Graph]] = {}
        self._used: list[Graph] = pools.Pool()
        #: Why there are none, and the generation of the runtime in which a capture has failed.
        self.obstacle = ""
        self._refused: int | None = None

    def take(self, values: list[Any]) -> Graph | None:
        """Return a graph for the inputs of this run, which is captured where there is none; None for a run without one."""
        if self._refused == pools.generation() or any(values[index].__class__ is not AclArray for index in self._given):
            return None
        self._compare_numbers(values)
        self._used[:] = [graph for graph in self._used if graph.is_waiting]
        key = self._place_inputs(values)
        free = self._free.get(key)
        while free:
            graph = free.pop()
            if graph.generation == pools.generation() and graph.live == self._live:
                self._used.append(graph)
                return graph
        if free is None:
            if len(self._free) == _MOST:
                return None
            if len(self._runs) > _SEEN:
                self._runs.clear()
            self._runs[key] += 1
            if self._runs[key] < _CAPTURED:
                return None
            del self._runs[key]
            free = self._free[key] = pools.Pool()
        try:
            tasks, schedule = self._find_parts(values)
            if tasks.obstacle:
                raise BackendError(tasks.obstacle)
            graph = Graph(schedule, tasks, values, free)
        except BackendError as error:
            self._refused, self.obstacle = pools.generation(), str(error)
            _LOG.info("a plan runs without a graph: %s", error)
            if isinstance(error, AclError) and not _is_lack(error):
                reports.report(error.function, error.code)
            return None
        self._used.append(graph)
        return graph

    def _compare_numbers(self, values: list[Any]) -> None:
        """Find the numbers that have changed since the last run; graphs that they are a part of are dropped."""
        for index, before in self._numbers.items():
            number = self._numbers[index] = values[index]
            if self._has_run and index not in self._live and not is_same_scalar(before, number):
                self._live |= {index}
                self._free.clear()
        self._has_run = True

    def _find_parts(self, values: list[Any]) -> tuple[GraphTasks, Schedule]:
        """Return what graphs consist of, with the numbers of this run that have not changed, and where their results lie."""
        parts = self._parts
        if parts is None or parts[0].live != self._live:
            tasks = GraphTasks(self._program, values, self._live)
            planned = [] if tasks.obstacle else [each for each in tasks.nodes if not is_view(each.node)]
            parts = self._parts = tasks, Schedule(self._program, planned)
        return parts

    def _place_inputs(self, values: list[Any]) -> Hashable:
        """Return the device, and for the inputs that share a block which one, and how they lie in it."""
        arrays = [values[index] for index in self._given]
        shared = find_shared(arrays)
        return current().device, tuple(
            [
                (slot, array.storage_offset, array.block.nbytes) if (slot := shared.get(id(array.block))) else None
                for array in arrays
            ]
        )


def _is_lack(error: AclError) -> bool:
    """Return whether a chip has no graphs, or a device no room for one."""
    return error.code == ACL_ERROR_RT_FEATURE_NOT_SUPPORT or isinstance(error, OutOfMemoryError)


def make_graphs(program: Program, schedule: Schedule) -> Graphs | None:
    """Return the graphs of a schedule; None where the environment does not ask for any, or the program has none."""
    if os.environ.get(VARIABLE) != "1":
        return None
    schedule.obstacle = find_obstacle(program, schedule.planned)
    if schedule.obstacle:
        _LOG.info("a plan runs without a graph: %s", schedule.obstacle)
        return None
    return Graphs(program, schedule)
