"""Plans for what a pipeline has recorded: everything is prepared first, then executed in order, then waited for once.

Note [Three stages]
    When the first of a plan's steps runs, the plan gets the memory of all results and, where they are not there yet, does
    the first phase of every function that an operator launches; the largest need decides how large the workspace is that
    all of them share. Then each step does its second phases, on one stream, and the last one waits for that stream. An
    operator in between whose functions depend on elements, and which the host computes, runs its own kernel in its place.

Note [Executors are repeated]
    An executor is made repeatable, and serves the next run of the plan: it is told where the arrays lie then, where that
    is not where they lay before. Results that nobody keeps lie in one block of memory, an arena, in which what is no longer
    needed makes room; as a rule the next run gets the same block, and nothing has to be told. A first phase is done again
    for a number that has changed, for a view that begins elsewhere, and for what the toolkit cannot repeat.

Note [Steps fail by themselves]
    Each step covers one node, so that an error belongs to its operator, and what comes after it can still run. A failure
    of a first phase is kept until its own step's turn. Each run has a `State` of its own, at the end of the list of values;
    one that does not come to its end is not used again.
"""

from __future__ import annotations

from collections.abc import Iterable

from dispatch_core import PlannedStep, Program

from .schedule import Schedule
from .tasks import Work, read

__all__ = ["plan"]


def plan(program: Program) -> Iterable[PlannedStep]:
    """Give a step for each node whose launches are known beforehand."""
    if not program.fuse:
        return []
    works: list[Work] = []
    # The state of a run stands last in the list of values, and temporaries before it.
    begin = -2
    for index, node in enumerate(program.nodes):
        work = read(index, node, begin)
        if work is not None:
            works.append(work)
            begin -= len(work.temporaries)
    return Schedule(program, works).steps() if works else []
