"""One piece of memory for the results that nobody keeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dispatch_core import Program
from dispatch_core.pipelines.program import Value

from ..arrays import extent
from .tasks import Work, seen

__all__ = ["placed", "size_of"]

#: Where arrays begin in an arena; the toolkit asks for 32 bytes.
_ALIGNMENT: Final = 512


def size_of(value: Value) -> int:
    """Give how many bytes an array takes."""
    size: int = extent(seen(value)) * value.dtype.itemsize
    return size


def placed(program: Program, works: Sequence[Work]) -> tuple[list[tuple[Value, int]], int]:
    """Place results that nobody keeps in one piece of memory; give where they begin, and how large it is.

    What an operator reads that runs its own kernel is not among them: that may come after the last step, or make a view.
    """
    planned = {work.index for work in works}
    places = [value.place for value in program.values if value.number is None]
    begins: dict[int, int] = {}
    ends: dict[int, int] = {}
    shown = {value.index for value in program.values if value.kept}
    for index, node in enumerate(program.nodes):
        begins |= {value.index: index for value in node.outputs if value is not None}
        ends |= {value.index: index for value in (*node.inputs(), *node.outputs) if value is not None}
        if index not in planned:
            shown |= {value.index for value in node.inputs()}
    free: list[Value] = []
    for work in works:
        begins |= {value.index: work.index for value in work.temporaries}
        ends |= {value.index: work.index for value in work.temporaries}
        free += work.temporaries
        free += [
            value
            for value in work.node.outputs
            if value is not None and value.index not in shown and places.count(value.place) == 1
        ]
    placed: list[tuple[Value, int]] = []
    taken: list[tuple[int, int, int]] = []
    size = 0
    for value in sorted(free, key=lambda each: begins[each.index]):
        need = max(-(-size_of(value) // _ALIGNMENT), 1) * _ALIGNMENT
        # Who was needed for the last time by an earlier node has left.
        others = sorted((start, stop) for start, stop, end in taken if end >= begins[value.index])
        start = 0
        for low, high in others:
            if start + need <= low:
                break
            start = max(start, high)
        taken.append((start, start + need, ends[value.index]))
        placed.append((value, start))
        size = max(size, start + need)
    return placed, size
