"""Runs of a plan as one model (ACL graph), which the runtime does again by one call.

Note [Graphs]
    With ``DISPATCH_NPU_GRAPHS=1`` the second run of a plan whose inputs lie alike is captured: its functions are called on
    memory of the graph's own, on a stream whose work is kept and not done (``aclmdlRICaptureBegin``). A run copies the
    inputs to the graph's memory (the whole blocks of inputs that share one), executes the model, and copies results, and
    what was written, out of it; no function has a first phase any more. Everything that a function got is part of the
    model. So a plan has graphs only if it consists of functions without numbers that change, and of views;
    `find_obstacle` names the call by which it has none. A graph serves one run at a time. Nothing inside waits, allocates,
    or copies from or to the host.

    The functions are newer than CANN 8.1, and chips 910A and 310B lack them. Where a capture fails, the plan runs as
    without it; a record of the logger ``dispatch_core.pipelines`` has the reason, and other failures are warnings.
"""

from __future__ import annotations

import ctypes
import os
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any, Final

from dispatch_core import BackendError, Program
from dispatch_core.planning import Node
from dispatch_core.surroundings.logs import Log

from ..acl import library, reports
from ..acl.constants import ACL_ERROR_RT_FEATURE_NOT_SUPPORT, ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL
from ..acl.errors import AclError, OutOfMemoryError
from ..aclnn import pools
from ..aclnn.calls import nbytes_of
from ..aclnn.descriptors import Descriptors
from ..arrays import AclArray
from ..runtime import allocator, memory
from ..runtime.stream import Stream, current
from .executor import RepeatedExecutor
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


def find_obstacle(program: Program, planned: Sequence[NodeTasks]) -> str:
    """Return the call by which a program has no graph, and why; ``""`` where it has one."""
    tasks = {each.index: each for each in planned}
    for index, node in enumerate(program.nodes):
        found = tasks.get(index)
        if found is None and not is_view(node):
            return f"{_describe(node)} runs its own kernel"
        if found is not None and any(task.numbers for task in found.tasks):
            return f"{_describe(node)} takes a number that may change"
    return ""


def _describe(node: Node) -> str:
    return f"{node.name} ({node.line})" if node.line else node.name


class Graphs:
    """The graphs of one schedule."""

    def __init__(self, program: Program, schedule: Schedule) -> None:
        self._schedule = schedule
        planned = {each.index: each for each in schedule.planned}
        #: The nodes in order, views among them.
        self._nodes = [planned.get(index) or NodeTasks(index, node, ()) for index, node in enumerate(program.nodes)]
        self._runs: Counter[Hashable] = Counter()
        #: The place of inputs → graphs that no run uses.
        self._free: dict[Hashable, list[Graph]] = {}
        self._used: list[Graph] = pools.Pool()
        #: The generation of the runtime in which a capture has failed.
        self._refused: int | None = None

    def take(self, values: list[Any]) -> Graph | None:
        """Return a graph for the inputs of this run, which is captured where there is none; None for a run without one."""
        if self._refused == pools.generation() or any(
            values[index].__class__ is not AclArray for index in self._schedule.given
        ):
            return None
        self._used[:] = [graph for graph in self._used if graph.is_waiting]
        key = self._place_inputs(values)
        free = self._free.get(key)
        while free:
            graph = free.pop()
            if graph.generation == pools.generation():
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
            graph = Graph(self._schedule, self._nodes, values, free)
        except BackendError as error:
            self._refused = pools.generation()
            _LOG.info("a plan runs without a graph: %s", error)
            if isinstance(error, AclError) and not _is_lack(error):
                reports.report(error.function, error.code)
            return None
        self._used.append(graph)
        return graph

    def _place_inputs(self, values: list[Any]) -> Hashable:
        """Return the device, and for the inputs that share a block which one, and how they lie in it."""
        arrays = [values[index] for index in self._schedule.given]
        shared = _find_shared(arrays)
        return current().device, tuple(
            [
                (slot, array.storage_offset, array.block.nbytes) if (slot := shared.get(id(array.block))) else None
                for array in arrays
            ]
        )


def _is_lack(error: AclError) -> bool:
    """Return whether a chip has no graphs, or a device no room for one."""
    return error.code == ACL_ERROR_RT_FEATURE_NOT_SUPPORT or isinstance(error, OutOfMemoryError)


def _find_shared(arrays: Sequence[AclArray]) -> dict[int, int]:
    """Return the blocks that several arrays lie in, by their ids, each with a number from 1."""
    counts = Counter(id(array.block) for array in arrays)
    return {block: number for number, block in enumerate((each for each in counts if counts[each] > 1), 1)}


class Graph:
    """A captured run: the model, and the memory that it works on."""

    #: Whether it has done what the steps of the plan would do.
    is_executed: Final = True

    __slots__ = (
        "_given",
        "_home",
        "_inner",
        "_model",
        "_outer",
        "_owner",
        "_stream",
        "_workspace",
        "_written",
        "generation",
    )

    def __init__(self, schedule: Schedule, nodes: Sequence[NodeTasks], values: list[Any], home: list[Graph]) -> None:
        self._home = home
        self._stream: Any = None
        self.generation = pools.generation()
        #: Index of an input, the block of ours to which it is copied, and whether that is a copy of its whole block.
        self._given: list[tuple[int, Any, bool]] = []
        inside = [*values, *schedule.room, None]
        shared = _find_shared([values[index] for index in schedule.given])
        own: dict[int, Any] = {}
        for index in schedule.given:
            array = values[index]
            is_whole = id(array.block) in shared
            block = own.get(id(array.block))
            if block is None:
                size = array.block.nbytes if is_whole else nbytes_of(array.spec)
                block = own[id(array.block)] = allocator.allocate(size)
                self._given.append((index, block, is_whole))
            inside[index] = _place(array.spec, block, array.storage_offset if is_whole else 0)
        self._outer = [(index, spec, allocator.allocate(size)) for index, spec, size in schedule.outer]
        arena = allocator.allocate(schedule.arena) if schedule.inner else None
        self._inner = [(index, _place(spec, arena, start)) for index, spec, start in schedule.inner]
        for index, spec, block in self._outer:
            inside[index] = _place(spec, block, 0)
        for index, array in self._inner:
            inside[index] = array
        executors = self._prepare(nodes, inside)
        written = {id(inside[value.index].block) for each in nodes for value in each.node.written}
        #: Those that are copied back.
        self._written = [each for each in self._given if id(each[1]) in written]
        self._owner = Descriptors()
        self._model = self._capture(executors)

    def _prepare(self, nodes: Sequence[NodeTasks], inside: list[Any]) -> list[RepeatedExecutor]:
        """Make the views, and do the first phase of each function, in order."""
        executors = []
        for each in nodes:
            if is_view(each.node):
                each.run_kernel(inside)
            for task in each.tasks:
                arrays = [inside[index] for index in task.tensors]
                places = [(array.storage_offset, array.block.nbytes) for array in arrays]
                executor = RepeatedExecutor(task.template, places, (), is_repeated=False)
                executor.prepare([array.block.pointer for array in arrays], ())
                executors.append(executor)
        return executors

    def _capture(self, executors: Sequence[RepeatedExecutor]) -> ctypes.c_void_p:
        """Do the second phases on a stream of their own, whose work is kept."""
        need = max((executor.size for executor in executors), default=0)
        self._workspace = allocator.allocate(need) if need else None
        pointer = None if self._workspace is None else self._workspace.pointer
        model = ctypes.c_void_p()
        self._owner.own("aclmdlRIDestroy", model)
        stream = Stream(current().device)
        library.call("aclmdlRICaptureBegin", stream.pointer, ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL)
        try:
            for executor in executors:
                status = executor.second(pointer, executor.size, executor.handle, stream.pointer)
                executor.release()
                if status:
                    library.fail(executor.function, status)
        finally:
            library.call("aclmdlRICaptureEnd", stream.pointer, ctypes.byref(model))
        return model

    @property
    def is_waiting(self) -> bool:
        """Whether the stream that executes it may not have reached its end."""
        return self._stream is not None and self._stream.is_busy

    def begin(self, values: list[Any]) -> None:
        """Execute the model for the inputs of a run, and give it results in memory of their own."""
        stream = self._stream = current()
        for index, block, is_whole in self._given:
            pointer, size = _span(values[index], is_whole=is_whole)
            memory.copy_on_device(block.pointer, pointer, size, stream)
        stream.is_busy = True
        library.call("aclmdlRIExecuteAsync", self._model, stream.pointer)
        for index, spec, block in self._outer:
            array = values[index] = _place(spec, allocator.allocate(block.nbytes), 0)
            memory.copy_on_device(array.block.pointer, block.pointer, block.nbytes, stream)
        for index, array in self._inner:
            values[index] = array
        for index, block, is_whole in self._written:
            pointer, size = _span(values[index], is_whole=is_whole)
            memory.copy_on_device(pointer, block.pointer, size, stream)

    def end(self) -> None:
        """Wait for the stream, and leave the graph to the next run."""
        self._stream.synchronize()
        self._stream = None
        self._home.append(self)


def _span(array: AclArray, *, is_whole: bool) -> tuple[int, int]:
    """Return the address and the bytes of an array from its first element to its last, or of its whole block."""
    if is_whole:
        return array.block.pointer, array.block.nbytes
    return array.block.pointer + array.storage_offset * array.spec.dtype.itemsize, nbytes_of(array.spec)


def _place(spec: Any, block: Any, offset: int) -> AclArray:
    array: Any = object.__new__(AclArray)
    array.block, array.spec, array.storage_offset = block, spec, offset
    return array


def make_graphs(program: Program, schedule: Schedule) -> Graphs | None:
    """Return the graphs of a schedule; None where the environment does not ask for any, or the program has none."""
    if os.environ.get(VARIABLE) != "1":
        return None
    obstacle = find_obstacle(program, schedule.planned)
    if obstacle:
        _LOG.info("a plan runs without a graph: %s", obstacle)
        return None
    return Graphs(program, schedule)
