"""The steps of a plan, and the states that one run leaves to the next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import Any, TypeAlias

from dispatch_core import PlannedStep, Program
from dispatch_core.planning import Node

from ..aclnn import pools
from ..aclnn.calls import nbytes_of
from ..ops.view import KERNELS as VIEWS
from .arena import assign_offsets
from .state import RunState
from .tasks import NodeTasks, to_spec

_Run: TypeAlias = Callable[[list[Any]], None]


class Schedule:
    """The tasks of one program, where their results lie, and the states that finished runs have left."""

    def __init__(self, program: Program, planned: Sequence[NodeTasks]) -> None:
        self.planned = tuple(planned)
        self.tasks = tuple([task for node_tasks in planned for task in node_tasks.tasks])
        #: Whether every node is planned.
        self.is_whole = len(planned) == len(program.nodes)
        self.states: list[Any] = pools.Pool()
        #: Captured runs, see Note [Graphs] in `graph`; None where there are none, and why.
        self.graphs: Any = None
        self.obstacle = ""
        #: Indices of the arrays that are there before the first step.
        self.given = tuple([value.index for value in program.values if value.given and value.number is None])
        inner, self.arena = assign_offsets(program, planned)
        #: Index, description, and first element in the arena: results that are not kept.
        self.inner = tuple([(value.index, to_spec(value), start // value.dtype.itemsize) for value, start in inner])
        self.in_arena = in_arena = frozenset(value.index for value, _ in inner)
        #: Tasks with numbers that may change.
        self.numbered = tuple([number for number, task in enumerate(self.tasks) if task.numbers])
        results = [value for node_tasks in planned for value in node_tasks.node.outputs if value is not None]
        #: Index, description and bytes of the others.
        self.outer = tuple(
            [
                (value.index, to_spec(value), nbytes_of(to_spec(value)))
                for value in results
                if value.index not in in_arena
            ]
        )
        places = {value.place for value in program.values if value.kept}
        #: Results whose memory is used when the plan has run, as that of views is.
        self.shown = frozenset([index for index, *_ in self.outer if program.values[index].place in places])
        #: Views that kernels make between the steps.
        self.views = tuple([NodeTasks(index, node, ()) for index, node in enumerate(program.nodes) if is_view(node)])
        #: Where temporaries stand, for which the plan's list of values has no entry.
        self.room = (None,) * sum(len(node_tasks.temporaries) for node_tasks in planned)

    def steps(self) -> Iterable[PlannedStep]:
        """Yield the steps in order."""
        numbers = accumulate([len(node_tasks.tasks) for node_tasks in self.planned], initial=0)
        runs = {each.index: self._node_step(each, number) for each, number in zip(self.planned, numbers, strict=False)}
        if self.graphs is not None:
            runs |= {index: each.run_kernel for index, each in self.graphs.others.items()}
            runs = {index: _unless_executed(run) for index, run in runs.items()}
        first, last = min(runs), self.planned[-1].index
        for index in sorted(runs):
            run = self._begin_before(runs[index]) if index == first else runs[index]
            if index == last:
                yield PlannedStep((index,), _end_after(run), note=self._describe)
            else:
                yield PlannedStep((index,), run)

    def _describe(self) -> str:
        """Return why the plan runs without a graph, ``""`` where it does not or was not asked to."""
        obstacle = self.obstacle if self.graphs is None else self.graphs.obstacle
        return f"runs without a graph: {obstacle}" if obstacle else ""

    def _node_step(self, node_tasks: NodeTasks, number: int) -> _Run:
        """Make the function that executes a node; ``number`` is that of its first task."""
        free = [
            [entry for entry in enumerate(task.tensors) if entry[1] not in self.in_arena] for task in node_tasks.tasks
        ]
        numbers = range(number, number + len(node_tasks.tasks))
        runs = [
            _second_phase(number, tensors, node_tasks, marks=not self.is_whole)
            for number, tensors in zip(numbers, free, strict=True)
        ]
        return runs[0] if len(runs) == 1 else _in_sequence(runs, numbers, node_tasks)

    def _begin_before(self, step: _Run) -> _Run:
        def run(values: list[Any]) -> None:
            state = (self.graphs and self.graphs.take(values)) or self._take_state()
            values += self.room
            values.append(state)
            state.begin(values)
            step(values)

        return run

    def _take_state(self) -> RunState:
        while True:
            try:
                state: RunState = self.states.pop()
            except IndexError:
                return RunState(self)
            if state.generation == pools.generation():
                return state


def is_view(node: Node) -> bool:
    """Return whether a node makes other descriptions of its inputs' memory, and writes nothing."""
    if node.kernel is not None and node.kernel is VIEWS.get(node.name.removeprefix("aten::")):
        return True
    places = {value.place for value in node.inputs() if value.number is None}
    return not node.written and all(value is not None and value.place in places for value in node.outputs)


def _unless_executed(step: _Run) -> _Run:
    """Make a step that does nothing where the graph of the run has been executed."""

    def run(values: list[Any]) -> None:
        if not values[-1].is_executed:
            step(values)

    return run


def _second_phase(number: int, free: Sequence[tuple[int, int]], node_tasks: NodeTasks, *, marks: bool) -> _Run:
    """Make the function that executes a task; ``free`` are position and index of tensors that may lie anywhere.

    With ``marks``, the stream is marked busy for kernels that run in between and may wait for it.
    """

    def run(values: list[Any]) -> None:
        state = values[-1]
        executor = state.ready[number]
        if executor is None or not executor.handle:
            executor = state.prepare_late(number, values)
            if executor is None:
                state.run_kernel((number,), node_tasks, values)
                return
        addresses, places = executor.addresses, executor.places
        for position, index in free:
            array = values[index]
            block = array.block
            if block.pointer != addresses[position] or (array.storage_offset, block.nbytes) != places[position]:
                executor = state.follow(number, values)
                break
        status = executor.second(state.workspace, executor.size, executor.handle, state.stream)
        if marks:
            state.mark()
        if status or not executor.is_repeatable:
            # The second phase has destroyed the executor.
            state.release(number, status)

    return run


def _in_sequence(runs: Sequence[_Run], numbers: Sequence[int], node_tasks: NodeTasks) -> _Run:
    """Make the function that executes a node of several tasks, or of none."""

    def run(values: list[Any]) -> None:
        state = values[-1]
        if state.runs_kernels or not state.errors.keys().isdisjoint(numbers):
            state.run_kernel(numbers, node_tasks, values)
            return
        for each in runs:
            each(values)

    return run


def _end_after(step: _Run) -> _Run:
    def run(values: list[Any]) -> None:
        step(values)
        values[-1].end()

    return run
