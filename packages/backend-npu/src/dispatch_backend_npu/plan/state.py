"""The state of one run of a plan: see Note [Three stages] in the package."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from ..acl import library
from ..aclnn import pools
from ..aclnn.calls import is_same_scalar, nbytes_of
from ..arrays import AclArray
from ..runtime import allocator
from ..runtime.stream import current
from .executor import RepeatedExecutor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .schedule import Schedule
    from .tasks import NodeTasks

_new: Final = object.__new__


class RunState:
    """The memory, stream and executors of one run of a schedule; see Note [Three stages]."""

    #: Whether a graph has done what the steps would do.
    is_executed: Final = False

    __slots__ = (
        "_arena",
        "_executors",
        "_inner",
        "_is_complete",
        "_need",
        "_places",
        "_schedule",
        "_space",
        "_stream",
        "_workspace",
        "errors",
        "generation",
        "ready",
        "runs_kernels",
        "stream",
        "workspace",
    )

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._executors: list[RepeatedExecutor | None] = [None] * len(schedule.tasks)
        #: Task → the error of its first phase.
        self.errors: dict[int, Exception] = {}
        #: Whether every first phase is done, and the size of the workspace that they need.
        self._is_complete, self._need = False, 0
        #: Index and array of results that are not kept, without a block between two runs.
        self._inner: list[tuple[int, Any]] = []
        #: Index → offset in the arena, and the bytes up to the array's end.
        self._places: dict[int, tuple[int, int]] = {}
        for index, spec, start in schedule.inner:
            array = _new(AclArray)
            array.spec, array.storage_offset = spec, start
            self._inner.append((index, array))
            self._places[index] = start, start * spec.dtype.itemsize + nbytes_of(spec)
        self._stream: Any = None
        self._space: Any = None
        self._arena = 0
        self._workspace: Any = None
        #: Whether kernels run instead of tasks, because an input is not an array of this device.
        self.runs_kernels = False
        self.generation = pools.generation()
        #: For each task its executor, None where the kernel runs instead.
        self.ready = self._executors
        #: The addresses that the second phases get.
        self.stream = 0
        self.workspace: int | None = None

    def begin(self, values: list[Any]) -> None:
        """Allocate the results, and do the missing first phases."""
        schedule = self._schedule
        for index in schedule.given:
            if values[index].__class__ is not AclArray:
                # Only kernels take a cpu tensor that represents a number.
                self.runs_kernels, self.ready = True, [None] * len(schedule.tasks)
                return
        self._stream = current()
        self.stream = self._stream.pointer
        for index, spec, size in schedule.outer:
            array = values[index] = _new(AclArray)
            array.block, array.spec, array.storage_offset = allocator.allocate(size), spec, 0
        if self._inner:
            space = self._space = allocator.allocate(schedule.arena)
            for index, array in self._inner:
                array.block = space
                values[index] = array
            if space.pointer != self._arena:
                self._arena = space.pointer
                if self._is_complete:
                    for number in range(len(schedule.tasks)):
                        self._attempt(self._follow, number, values)
        if self._is_complete:
            changed = [
                number
                for number in schedule.numbered
                if number not in self.errors and not self._has_same_numbers(number, values)
            ]
            self._look_ahead(values, changed)
            for number in changed:
                self._attempt(self._prepare_now, number, values)
        else:
            self._look_ahead(values, self._executors)
            for number, executor in enumerate(self._executors):
                if executor is None or not executor.handle or not self._has_same_numbers(number, values):
                    self._attempt(self._prepare_now, number, values)
                else:
                    self._attempt(self._follow, number, values)
            self._is_complete = not self.errors and all(
                each is not None and each.is_repeatable for each in self._executors
            )
        self._reserve()

    def _look_ahead(self, values: list[Any], needed: Collection[object]) -> None:
        """Make the views that kernels make in between, as far as their bases are there: a first phase needs addresses."""
        for node_tasks in self._schedule.views if needed else ():
            if all(values[value.index] is not None for value in node_tasks.node.inputs()):
                with suppress(Exception):  # raised by the node's own step
                    node_tasks.run_kernel(values)

    def _attempt(self, action: Callable[[int, list[Any]], object], number: int, values: list[Any]) -> None:
        """Call ``action`` for a task; its error is kept for the task's own step."""
        if number in self.errors:
            return
        try:
            action(number, values)
        except Exception as error:  # noqa: BLE001  # raised by the step
            self.errors[number] = error
            self._executors[number] = None

    def _reserve(self) -> None:
        """Allocate a workspace for the largest need, unless there is one."""
        need = self._need
        if need and (self._workspace is None or self._workspace.nbytes < need):
            self._workspace = allocator.allocate(need)
            self.workspace = self._workspace.pointer

    def _has_same_numbers(self, number: int, values: list[Any]) -> bool:
        executor = self._executors[number]
        assert executor is not None
        indices = self._schedule.tasks[number].numbers
        return all(is_same_scalar(values[index], held) for index, held in zip(indices, executor.numbers, strict=True))

    def _arrays(self, number: int, values: list[Any]) -> list[Any]:
        return [values[index] for index in self._schedule.tasks[number].tensors]

    def _prepare_now(self, number: int, values: list[Any]) -> None:
        """Do a first phase before the first step, unless an array is not there yet: then the task's own step does it."""
        if None not in self._arrays(number, values):
            self._prepare(number, values)
        else:
            executor = self._executors[number]
            if executor is not None:
                executor.discard()

    def _prepare(self, number: int, values: list[Any]) -> RepeatedExecutor:
        """Do a first phase for the arrays of this run."""
        task = self._schedule.tasks[number]
        arrays = self._arrays(number, values)
        places = list(map(self._place, task.tensors, arrays))
        numbers = tuple([values[index] for index in task.numbers])
        executor = self._executors[number]
        self._executors[number] = None
        if executor is None or places != executor.places:
            executor = RepeatedExecutor(task.template, places, numbers)
        executor.prepare([array.block.pointer for array in arrays], numbers)
        self._executors[number] = executor
        self._need = max(self._need, executor.size)
        return executor

    def _place(self, index: int, array: Any) -> tuple[int, int]:
        """Return the offset of an array in its block, and the bytes of the block."""
        return self._places.get(index) or (array.storage_offset, array.block.nbytes)

    def _follow(self, number: int, values: list[Any]) -> RepeatedExecutor:
        """Return an executor for the arrays of this run, wherever they lie; arrays that are not there yet are skipped."""
        executor = self._executors[number]
        assert executor is not None
        arrays = self._arrays(number, values)
        fits = all(
            array is None or self._place(index, array) == place
            for index, array, place in zip(self._schedule.tasks[number].tensors, arrays, executor.places, strict=True)
        )
        if executor.is_repeatable and fits:
            executor.move([0 if array is None else array.block.pointer for array in arrays])
        elif None not in arrays:
            return self._prepare(number, values)
        return executor

    def prepare_late(self, number: int, values: list[Any]) -> RepeatedExecutor | None:
        """Do a first phase in the task's own step; return None where the kernel has to run instead."""
        if self.runs_kernels or number in self.errors:
            return None
        executor = self._prepare(number, values)
        self._reserve()
        return executor

    def follow(self, number: int, values: list[Any]) -> RepeatedExecutor:
        """Return an executor for the arrays of this run, all of which are there, and a workspace as large as it needs."""
        executor = self._follow(number, values)
        self._reserve()
        return executor

    def run_kernel(self, numbers: Sequence[int], node_tasks: NodeTasks, values: list[Any]) -> None:
        """Run the kernel of a node, or raise the error that a first phase of one of its tasks has raised."""
        for number in numbers:
            if number in self.errors:
                self.mark()
                raise self.errors[number]
        node_tasks.run_kernel(values)

    def release(self, number: int, status: int) -> None:
        """Drop an executor that the second phase has destroyed. Raises ``AclError`` for a status that is not a success."""
        executor = self._executors[number]
        assert executor is not None
        executor.release()
        self._is_complete = False
        if status:
            self.mark()
            library.fail(self._schedule.tasks[number].template.function, status)

    def mark(self) -> None:
        """Mark the stream busy, see Note [Idle streams] in ``runtime.stream``."""
        self._stream.is_busy = True

    def end(self) -> None:
        """Wait for the stream, and leave the executors to the next run."""
        if self.runs_kernels:
            return
        self._stream.is_busy = True
        self._stream.synchronize()
        if self.errors:
            return
        for _, array in self._inner:
            array.block = None
        self._stream = self._space = self._workspace = self.workspace = None
        self._schedule.states.append(self)
