"""The steps of a plan, and what runs of it leave to one another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from dispatch_core import PlannedStep, Program

from ..aclnn import calls
from .arena import placed, size_of
from .state import State
from .tasks import Work, seen

__all__ = ["Schedule"]

_Run: TypeAlias = Callable[[list[Any]], None]


class Schedule:
    """The tasks of one structure, where their results lie, and the states that runs have left for others."""

    def __init__(self, program: Program, works: Sequence[Work]) -> None:
        self.works = tuple(works)
        self.tasks = tuple([task for work in works for task in work.tasks])
        #: Whether every node is planned.
        self.is_whole = len(works) == len(program.nodes)
        self.states: list[Any] = calls.stock()
        #: Indices of the arrays that are there before the first step.
        self.given = tuple([value.index for value in program.values if value.given and value.number is None])
        inner, self.arena = placed(program, works)
        #: Index, description, and first element in the arena: results that nobody keeps.
        self.inner = tuple([(value.index, seen(value), start // value.dtype.itemsize) for value, start in inner])
        self.held = held = frozenset(value.index for value, _ in inner)
        #: Tasks with numbers that may change.
        self.numbered = tuple([number for number, task in enumerate(self.tasks) if task.numbers])
        made_here = [value for work in works for value in work.node.outputs if value is not None]
        #: Index, description and bytes of the others.
        self.outer = tuple(
            [(value.index, seen(value), size_of(value)) for value in made_here if value.index not in held]
        )
        #: Where temporaries stand, which the plan's list of values has no place for.
        self.room = (None,) * sum(len(work.temporaries) for work in works)

    def steps(self) -> Iterable[PlannedStep]:
        """Give the steps in order."""
        number = 0
        for work in self.works:
            run = self._work(work, number)
            number += len(work.tasks)
            if work is self.works[0]:
                run = self._beginning(run)
            yield PlannedStep((work.index,), _ending(run) if work is self.works[-1] else run)

    def _work(self, work: Work, number: int) -> _Run:
        """Make the function that executes a node, whose first task has a number."""
        free = [[entry for entry in enumerate(task.tensors) if entry[1] not in self.held] for task in work.tasks]
        numbers = range(number, number + len(work.tasks))
        runs = [
            _second_phase(number, places, work, marks=not self.is_whole)
            for number, places in zip(numbers, free, strict=True)
        ]
        return runs[0] if len(runs) == 1 else _one_after_the_other(runs, numbers, work)

    def _beginning(self, then: _Run) -> _Run:
        def run(values: list[Any]) -> None:
            state = self._take()
            values += self.room
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


def _second_phase(number: int, free: Sequence[tuple[int, int]], work: Work, *, marks: bool) -> _Run:
    """Make the function that executes a task; ``free`` are place and index of tensors that may lie anywhere.

    With ``marks``, the stream is marked busy for kernels that run in between and may wait for it.
    """

    def run(values: list[Any]) -> None:
        state = values[-1]
        prepared = state.ready[number]
        if prepared is None:
            state.run_otherwise((number,), work, values)
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


def _one_after_the_other(runs: Sequence[_Run], numbers: Sequence[int], work: Work) -> _Run:
    """Make the function that executes a node of several tasks, or of none."""

    def run(values: list[Any]) -> None:
        state = values[-1]
        if state.is_plain or any(state.ready[number] is None for number in numbers):
            state.run_otherwise(numbers, work, values)
            return
        for each in runs:
            each(values)

    return run


def _ending(then: _Run) -> _Run:
    def run(values: list[Any]) -> None:
        then(values)
        values[-1].end()

    return run
