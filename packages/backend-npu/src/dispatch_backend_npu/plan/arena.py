"""One piece of memory for the results that are not kept (memory planning by lifetimes)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dispatch_core import Program
from dispatch_core.planning import Value

from ..aclnn.calls import nbytes_of
from ..runtime.chunks import pad
from .tasks import NodeTasks, to_spec

#: Where arrays begin in an arena; the toolkit asks for 32 bytes.
_ALIGNMENT: Final = 512


def assign_offsets(program: Program, planned: Sequence[NodeTasks]) -> tuple[list[tuple[Value, int]], int]:
    """Return the results that fit in one arena with the byte where each begins, and the size of the arena.

    Inputs of operators that run their own kernels stay outside: a kernel may run after the last step, or return a view.
    """
    indices = {tasks.index for tasks in planned}
    places = [value.place for value in program.values if value.number is None]
    begins: dict[int, int] = {}
    ends: dict[int, int] = {}
    outside = {value.index for value in program.values if value.kept}
    for index, node in enumerate(program.nodes):
        begins |= {value.index: index for value in node.outputs if value is not None}
        ends |= {value.index: index for value in (*node.inputs(), *node.outputs) if value is not None}
        if index not in indices:
            outside |= {value.index for value in node.inputs()}
    inside: list[Value] = []
    for tasks in planned:
        begins |= {value.index: tasks.index for value in tasks.temporaries}
        # A later node may read what another one has left.
        ends |= {index: tasks.index for task in tasks.tasks for index in task.tensors if index < 0}
        inside += tasks.temporaries
        inside += [
            value
            for value in tasks.node.outputs
            if value is not None and value.index not in outside and places.count(value.place) == 1
        ]
    assigned: list[tuple[Value, int]] = []
    taken: list[tuple[int, int, int]] = []
    size = 0
    for value in sorted(inside, key=lambda each: begins[each.index]):
        need = -(-pad(nbytes_of(to_spec(value))) // _ALIGNMENT) * _ALIGNMENT
        # Memory whose last use is in an earlier node is free again.
        others = sorted((start, stop) for start, stop, end in taken if end >= begins[value.index])
        start = 0
        for low, high in others:
            if start + need <= low:
                break
            start = max(start, high)
        taken.append((start, start + need, ends[value.index]))
        assigned.append((value, start))
        size = max(size, start + need)
    return assigned, size
