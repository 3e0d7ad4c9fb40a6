"""Which recorded steps have to run, and which nobody can observe.

Note [What a boundary computes]
    Whoever reads a value needs the step that makes it, and from there backwards through the record:
    (a) the steps that make the inputs of what is needed;
    (b) earlier writes to any memory that a needed step, or the reader, reads;
    (c) earlier observable steps that touch memory which a needed step writes.
    All of these lie before what needs them, so one pass from the end finds them. Random numbers are drawn from a memory of
    their own, the generators' state, which every random step reads and writes.

Note [Who can observe a value]
    A pending value that is referred to from outside the record is held by somebody: references are counted and those that
    the record itself holds are taken off. That costs a pass over all references, so it is made only where rule (c) asks,
    and where steps are to be forgotten.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any, Final

from .graph import Pending, Step, place_of

__all__ = ["RANDOM", "held_outside", "needed", "observable"]

#: Stands among what is read or written for the state of the random number generators.
RANDOM: Final = "the state of the generators"


def needed(steps: Sequence[Step], reads: Sequence[Any], writes: Sequence[Any]) -> list[Step]:
    """Return, in order, the steps that must run before ``reads`` can be read and ``writes`` written.

    See Note [What a boundary computes].
    """
    wanted = {id(value) for value in reads if isinstance(value, Pending)}
    read = set(map(_place, reads))
    written = set(map(_place, writes))
    seen: set[int] | None = None
    chosen = []
    for step in reversed(steps):
        if step.done:
            continue
        changes = _changes(step) if step.written or step.is_random else ()
        need = not wanted.isdisjoint(map(id, step.outputs)) or not read.isdisjoint(changes)
        if (
            not need
            and written
            and not (written.isdisjoint(changes) and written.isdisjoint(map(place_of, step.inputs())))
        ):
            if seen is None:
                seen = set(map(id, observable(steps)))
            need = id(step) in seen
        if not need:
            continue
        chosen.append(step)
        for value in step.inputs():
            read.add(place_of(value))
            if isinstance(value, Pending):
                wanted.add(id(value))
        if changes:
            written.update(changes)
            if step.is_random:
                read.add(RANDOM)
    chosen.reverse()
    return chosen


def observable(steps: Sequence[Step]) -> list[Step]:
    """Return, in order, the steps whose effect somebody can still see.

    A step is seen if its result has an owner outside the record, if it writes to memory that is seen, if it draws random
    numbers, or if a step that is seen uses its result.
    """
    held = held_outside(steps)
    live = set(held)
    places: set[Hashable] = set(map(place_of, held.values()))
    chosen = []
    for step in reversed(steps):
        if step.done:
            continue
        if (
            live.isdisjoint(map(id, step.outputs))
            and not (step.written and any(_is_there(value) or place_of(value) in places for value in step.writes()))
            and not step.is_random
        ):
            continue
        chosen.append(step)
        for value in step.inputs():
            live.add(id(value))
            places.add(place_of(value))
    chosen.reverse()
    return chosen


def _place(value: Any) -> Hashable:
    return RANDOM if value is RANDOM else place_of(value)


def _changes(step: Step) -> set[Hashable]:
    """Return the places that a step writes to."""
    found: set[Hashable] = set(map(place_of, step.writes()))
    if step.is_random:
        found.add(RANDOM)
    return found


def _is_there(value: Any) -> bool:
    """Tell whether memory is there already, so that arrays the record knows nothing of may lie in it."""
    return not isinstance(value, Pending) or value.value is not None or value.memory.place is not None


def held_outside(steps: Sequence[Step]) -> dict[int, Pending]:
    """Return the pending values that somebody outside the record refers to; see Note [Who can observe a value]."""
    inside: Counter[int] = Counter()
    known: dict[int, Pending] = {}
    for step in steps:
        for value in (*step.outputs, *step.values):
            for item in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(item, Pending):
                    key = id(item)
                    inside[key] += 1
                    known[key] = item
    value = item = None
    found = {}
    while known:
        key, value = known.popitem()
        # This name and the call's own argument are not counted.
        if sys.getrefcount(value) - 2 > inside[key]:
            found[key] = value
    return found
