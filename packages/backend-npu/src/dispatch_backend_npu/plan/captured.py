"""One captured run of a plan, see Note [Graphs] in `graph`."""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from ..acl import library
from ..acl.constants import ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL
from ..aclnn import pools
from ..aclnn.calls import nbytes_of
from ..aclnn.descriptors import Descriptors
from ..arrays import AclArray, array_in
from ..runtime import allocator, memory
from ..runtime.stream import Stream, current
from .executor import RepeatedExecutor
from .graph_tasks import GraphTasks
from .numbers import NumberBlock
from .schedule import Schedule, is_view
from .tasks import NodeTasks


def find_shared(arrays: Sequence[AclArray]) -> dict[int, int]:
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
        "_numbers",
        "_outer",
        "_owner",
        "_stream",
        "_workspace",
        "_written",
        "generation",
        "live",
    )

    def __init__(self, schedule: Schedule, tasks: GraphTasks, values: list[Any], home: list[Graph]) -> None:
        self._home = home
        self.live = tasks.live
        self._stream: Any = None
        self.generation = pools.generation()
        #: Index of an input, the block of ours to which it is copied, and whether that is a copy of its whole block.
        self._given: list[tuple[int, Any, bool]] = []
        inside = dict(enumerate(values))
        shared = find_shared([values[index] for index in schedule.given])
        own: dict[int, Any] = {}
        for index in schedule.given:
            array = values[index]
            is_whole = id(array.block) in shared
            block = own.get(id(array.block))
            if block is None:
                size = array.block.nbytes if is_whole else nbytes_of(array.spec)
                block = own[id(array.block)] = allocator.allocate(size)
                self._given.append((index, block, is_whole))
            inside[index] = array_in(block, array.spec, array.storage_offset if is_whole else 0)
        self._outer = [(index, spec, allocator.allocate(size)) for index, spec, size in schedule.outer]
        arena = allocator.allocate(schedule.arena) if schedule.inner else None
        self._inner = [(index, array_in(arena, spec, start)) for index, spec, start in schedule.inner]
        for index, spec, block in self._outer:
            inside[index] = array_in(block, spec)
        self._inner += [(index, inside[index]) for index, _, _ in self._outer if index not in schedule.shown]
        self._outer = [each for each in self._outer if each[0] in schedule.shown]
        inside |= dict(self._inner)
        self._numbers = NumberBlock(tasks.numbers, tasks.draws) if tasks.numbers else None
        if self._numbers is not None:
            inside |= dict(self._numbers.arrays)
        executors = self._prepare(tasks.nodes, inside)
        written = {id(inside[value.index].block) for each in tasks.nodes for value in each.node.written}
        #: Those that are copied back.
        self._written = [each for each in self._given if id(each[1]) in written]
        self._owner = Descriptors()
        self._model = self._capture(executors)

    def _prepare(self, nodes: Sequence[NodeTasks], inside: dict[int, Any]) -> list[RepeatedExecutor]:
        """Make the views, and do the first phase of each function, in order."""
        executors = []
        for each in nodes:
            if is_view(each.node):
                each.run_kernel(inside)  # type: ignore[arg-type]  # it reads and sets entries
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
        if self._numbers is not None:
            self._numbers.send(values, stream)
        for index, block, is_whole in self._given:
            pointer, size = _span(values[index], is_whole=is_whole)
            memory.copy_on_device(block.pointer, pointer, size, stream)
        stream.is_busy = True
        library.call("aclmdlRIExecuteAsync", self._model, stream.pointer)
        for index, spec, block in self._outer:
            array = values[index] = array_in(allocator.allocate(block.nbytes), spec)
            memory.copy_on_device(array.block.pointer, block.pointer, block.nbytes, stream)
        for index, array in self._inner:
            if index >= 0:
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
