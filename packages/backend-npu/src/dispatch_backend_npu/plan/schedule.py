"""The steps of a plan, and what runs of it leave to one another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from dispatch_core import PlannedStep, Program

from ..aclnn import calls
from .arena import placed, size_of
from .state import State
from .tasks import Task, seen

__all__ = ["Schedule"]

_Run: TypeAlias = Callable[[list[Any]], None]


class Schedule:
    """The tasks of one structure, where their results lie, and the states that runs have left for others."""

    def __init__(self, program: Program, tasks: Sequence[Task]) -> None:
        self.tasks = tuple(tasks)
        #: Whether every node is a task.
        self.is_whole = len(tasks) == len(program.nodes)
        self.states: list[Any] = calls.stock()
        made_here = [
            value for task in tasks for value in task.node.outputs if value is not None and value.number is None
        ]
        #: Indices of the arrays that are there before the first step.
        self.given = tuple([value.index for value in program.values if value.given and value.number is None])
        inner, self.arena = placed(program, made_here, {task.index for task in tasks})
        #: Index, description, and first element in the arena: results that nobody keeps.
        self.inner = tuple([(value.index, seen(value), start // value.dtype.itemsize) for value, start in inner])
        self.held = held = frozenset(value.index for value, _ in inner)
        #: Tasks with numbers that may change.
        self.numbered = tuple([number for number, task in enumerate(tasks) if task.numbers])
        #: Index, description and bytes of the others.
        self.outer = tuple(
            [(value.index, seen(value), size_of(value)) for value in made_here if value.index not in held]
        )

    def steps(self) -> Iterable[PlannedStep]:
        """Give the steps in order."""
        last = len(self.tasks) - 1
        for number, task in enumerate(self.tasks):
            free = [entry for entry in enumerate(task.tensors) if entry[1] not in self.held]
            run = _second_phase(number, free, marks=not self.is_whole)
            if not number:
                run = self._beginning(run)
            yield PlannedStep((task.index,), _ending(run) if number == last else run)

    def _beginning(self, then: _Run) -> _Run:
        def run(values: list[Any]) -> None:
            state = self._take()
            values.append(state)
            state.begin(values)
            then(values)

        return run

    def _take(self) -> State:
        while True:
            try:
                state: State = self.states.pop()
            except IndexError:
                return State(self)
            if state.generation == calls.generation():
                return state


def _second_phase(number: int, free: Sequence[tuple[int, int]], *, marks: bool) -> _Run:
    """Make the function that executes a task; ``free`` are place and index of tensors that may lie anywhere.

    With ``marks``, the stream is marked busy for kernels that run in between and may wait for it.
    """

    def run(values: list[Any]) -> None:
        state = values[-1]
        prepared = state.ready[number]
        if prepared is None:
            state.run_otherwise(number, values)
            return
        addresses, offsets = prepared.addresses, prepared.offsets
        for place, index in free:
            array = values[index]
            if array.block.pointer != addresses[place] or array.storage_offset != offsets[place]:
                prepared = state.follow(number, values)
                break
        status = prepared.second(state.workspace, prepared.size, prepared.handle, state.stream)
        if marks:
            state.mark()
        if status or not prepared.repeats:
            # The second phase has destroyed the executor.
            state.forget(number, status)

    return run


def _ending(then: _Run) -> _Run:
    def run(values: list[Any]) -> None:
        then(values)
        values[-1].end()

    return run
