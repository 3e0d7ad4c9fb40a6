"""What one run of a plan works with: see Note [Three stages] in the package."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ..acl import library
from ..aclnn import calls
from ..aclnn.calls import same
from ..arrays import AclArray
from ..runtime import allocator
from ..runtime.stream import current
from .prepared import Prepared

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .schedule import Schedule
    from .tasks import Work

__all__ = ["State"]

_new: Final = object.__new__


class State:
    """What one run of a schedule works with; see Note [Three stages]."""

    __slots__ = (
        "_arena",
        "_errors",
        "_inner",
        "_is_complete",
        "_need",
        "_prepared",
        "_schedule",
        "_space",
        "_stream",
        "_workspace",
        "generation",
        "is_plain",
        "ready",
        "stream",
        "workspace",
    )

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._prepared: list[Prepared | None] = [None] * len(schedule.tasks)
        self._errors: dict[int, Exception] = {}
        #: Whether every first phase is done, for arrays of whatever address, and how large a workspace they need.
        self._is_complete, self._need = False, 0
        #: Index and array of results that nobody keeps, without a block between two runs.
        self._inner: list[tuple[int, Any]] = []
        for index, spec, start in schedule.inner:
            array = _new(AclArray)
            array.spec, array.storage_offset = spec, start
            self._inner.append((index, array))
        self._stream: Any = None
        self._space: Any = None
        self._arena = 0
        self._workspace: Any = None
        #: Whether kernels run, because arrays are not what they were planned to be.
        self.is_plain = False
        self.generation = calls.generation()
        #: For each task its first phase, None where it has to go another way.
        self.ready = self._prepared
        #: What the second phases are given: addresses.
        self.stream = 0
        self.workspace: int | None = None

    def begin(self, values: list[Any]) -> None:
        """Make the results, and do the first phases that are missing."""
        schedule = self._schedule
        for index in schedule.given:
            if values[index].__class__ is not AclArray:
                # A cpu tensor that stands for a number is known to kernels only.
                self.is_plain, self.ready = True, [None] * len(schedule.tasks)
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
            for number in schedule.numbered:
                if number not in self._errors and not self._has_numbers(number, values):
                    self._attempt(self._prepare, number, values)
        else:
            for number, prepared in enumerate(self._prepared):
                if prepared is None or not prepared.handle or not self._has_numbers(number, values):
                    self._attempt(self._prepare, number, values)
                else:
                    self._attempt(self._follow, number, values)
            self._is_complete = not self._errors and all(each is not None and each.repeats for each in self._prepared)
        self._reserve()

    def _attempt(self, action: Callable[[int, list[Any]], object], number: int, values: list[Any]) -> None:
        """Do something for a task; what it raises is kept for the task's own step."""
        if number in self._errors:
            return
        try:
            action(number, values)
        except Exception as error:  # noqa: BLE001  # raised by the step
            self._errors[number] = error
            self._prepared[number] = None

    def _reserve(self) -> None:
        """Have a workspace for the largest need."""
        need = self._need
        if need and (self._workspace is None or self._workspace.size < need):
            self._workspace = allocator.allocate(need)
            self.workspace = self._workspace.pointer

    def _has_numbers(self, number: int, values: list[Any]) -> bool:
        prepared = self._prepared[number]
        assert prepared is not None
        indices = self._schedule.tasks[number].numbers
        return all(same(values[index], held) for index, held in zip(indices, prepared.numbers, strict=True))

    def _arrays(self, number: int, values: list[Any]) -> list[Any]:
        return [values[index] for index in self._schedule.tasks[number].tensors]

    def _prepare(self, number: int, values: list[Any]) -> Prepared:
        """Do a first phase for the arrays at hand; one that is not there yet is taken to begin where its memory does."""
        task = self._schedule.tasks[number]
        arrays = self._arrays(number, values)
        offsets = tuple([0 if array is None else array.storage_offset for array in arrays])
        numbers = tuple([values[index] for index in task.numbers])
        prepared = self._prepared[number]
        self._prepared[number] = None
        if prepared is None or prepared.offsets != offsets:
            prepared = Prepared(task.recipe, offsets, numbers)
        prepared.prepare([0 if array is None else array.block.pointer for array in arrays], numbers)
        self._prepared[number] = prepared
        self._need = max(self._need, prepared.size)
        return prepared

    def _follow(self, number: int, values: list[Any]) -> Prepared:
        """Have an executor for arrays that lie elsewhere than it was told; those that are not there yet are left alone."""
        prepared = self._prepared[number]
        assert prepared is not None
        arrays = self._arrays(number, values)
        moved = all(a is None or a.storage_offset == offset for a, offset in zip(arrays, prepared.offsets, strict=True))
        if not prepared.repeats or not moved:
            return self._prepare(number, values)
        prepared.move([0 if array is None else array.block.pointer for array in arrays])
        return prepared

    def follow(self, number: int, values: list[Any]) -> Prepared:
        """Do the same when everything is there."""
        prepared = self._follow(number, values)
        self._reserve()
        return prepared

    def run_otherwise(self, numbers: Sequence[int], work: Work, values: list[Any]) -> None:
        """Raise what the first phase of one of a node's tasks has raised, or run the operator's kernel."""
        for number in numbers:
            if number in self._errors:
                self.mark()
                raise self._errors[number]
        work.run_kernel(values)

    def forget(self, number: int, status: int) -> None:
        """Let go of an executor that is gone. Raises ``AclError`` for a status that says so."""
        prepared = self._prepared[number]
        assert prepared is not None
        prepared.forget()
        self._is_complete = False
        if status:
            self.mark()
            library.fail(self._schedule.tasks[number].recipe.function, status)

    def mark(self) -> None:
        """Mark the stream busy, see Note [Idle streams] in ``runtime.stream``."""
        self._stream.busy = True

    def end(self) -> None:
        """Wait for the stream, and leave what has been prepared to the next run."""
        if self.is_plain:
            return
        self._stream.busy = True
        self._stream.synchronize()
        if self._errors:
            return
        for _, array in self._inner:
            array.block = None
        self._stream = self._space = self._workspace = self.workspace = None
        self._schedule.states.append(self)
