"""Plans for recorded pipelines: every operator is prepared first, then all are executed in order, then the host waits once.

Note [Three stages]
    The first step of a plan allocates the memory of all results and does the missing first phases of the functions that
    the operators launch; all functions share one workspace, as large as the largest need. Each step then does its second
    phases, on one stream, and the last step waits for that stream. An operator whose launches depend on elements, or that
    the host computes, is not planned: its own kernel runs in its place. A function of its results does its first phase in
    its own step, when they are there; views are made ahead, for the first phases.

Note [Executors are repeated]
    An executor is repeatable and serves the next run of the plan, with new addresses for arrays that have moved.
    Unused results lie in one block of memory, an arena, in which the memory of a dead result is used again; as a rule the
    next run gets the same block, and no address changes. A first phase is done again when a number has changed, when a
    view begins elsewhere, and for each run where the toolkit refuses to repeat the executor: it does so for calls that
    its cache answers, because they ran eagerly before. No function is prepared twice for one run.

Each step covers one node, so that an error belongs to its operator and later steps still run. The error of a first
phase is kept until its own step. Each run has a `RunState`, the last of its values; the state of a run that did not
finish is not used again.
"""

from __future__ import annotations

from collections.abc import Iterable

from dispatch_core import PlannedStep, Program

from ..runtime.device import is_blocking
from .graph import make_graphs
from .schedule import Schedule
from .tasks import NodeTasks, read_node

__all__ = ["plan"]


def plan(program: Program) -> Iterable[PlannedStep]:
    """Return a step for each node whose launches are known beforehand."""
    if not program.fuse or is_blocking():
        return []
    planned: list[NodeTasks] = []
    # The state of a run stands last in the list of values, and temporaries before it.
    begin = -2
    for index, node in enumerate(program.nodes):
        tasks = read_node(index, node, begin)
        if tasks is not None:
            planned.append(tasks)
            begin -= len(tasks.temporaries)
    if not planned:
        return []
    schedule = Schedule(program, planned)
    schedule.graphs = make_graphs(program, schedule)
    return schedule.steps()
