"""Which recorded steps have to run, and which nobody can observe.

Note [What a boundary computes]
    Whoever reads a value needs the step that makes it, and from there backwards through the record:
    (a) the steps that make the inputs of what is needed;
    (b) earlier writes to any memory that a needed step, or the reader, reads;
    (c) earlier observable steps that touch memory which a needed step writes.
    All of these lie before what needs them, so one pass from the end finds them.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any, Final

from .graph import Pending, Step, place_of

__all__ = ["held_outside", "needed", "observable"]

_RANDOM = "the generators' state"


def needed(steps: Sequence[Step], reads: Sequence[Any], writes: Sequence[Any]) -> list[Step]:
    """Return, in order, the steps that must run before ``reads`` can be read and ``writes`` written.

    See Note [What a boundary computes].
    """
    seen = set(map(id, observable(steps))) if writes or any(step.written for step in steps) else None
    wanted = {id(value) for value in reads if isinstance(value, Pending)}
    read: set[Hashable] = {place_of(value) for value in reads}
    written: set[Hashable] = {place_of(value) for value in writes}
    chosen = []
    for step in reversed(steps):
        if step.done:
            continue
        changes = _writes(step)
        need = any(id(output) in wanted for output in step.outputs) or not changes.isdisjoint(read)
        if not need and written:
            touched = changes | {place_of(value) for value in step.inputs()}
            need = not touched.isdisjoint(written) and (seen is None or id(step) in seen)
        if not need:
            continue
        chosen.append(step)
        for value in step.inputs():
            if isinstance(value, Pending):
                wanted.add(id(value))
            read.add(place_of(value))
        if step.is_random:
            read.add(_RANDOM)
        written |= changes
    chosen.reverse()
    return chosen


def observable(steps: Sequence[Step]) -> list[Step]:
    """Return, in order, the steps whose effect somebody can still see.

    A step is seen if its result has an owner outside the record, if it writes to memory that is seen, if it draws random
    numbers, or if a step that is seen uses its result.
    """
    if _all_are_seen(steps):
        return list(steps)
    held = held_outside(steps)
    live: set[int] = set()
    places: set[Hashable] = {place_of(value) for value in held.values()}
    live |= held.keys()
    chosen = []
    for step in reversed(steps):
        if step.done:
            continue
        seen = step.is_random or any(id(output) in live for output in step.outputs)
        if not seen and step.written:
            seen = any(not isinstance(value, Pending) or place_of(value) in places for value in step.writes())
        if not seen:
            continue
        chosen.append(step)
        for value in step.inputs():
            live.add(id(value))
            places.add(place_of(value))
    chosen.reverse()
    return chosen


def _all_are_seen(steps: Sequence[Step]) -> bool:
    """Tell whether each step is seen, by a look that is quick and may say no for yes."""
    used: set[int] = set()
    add = used.update
    count = sys.getrefcount
    for step in reversed(steps):
        if step.done or step.is_random:
            return False
        if step.written:
            if any(isinstance(value, Pending) for value in step.writes()):
                return False
        else:
            for output in step.outputs:
                # Referred to by the step, by this name and by the call; no later step uses it.
                if output is None or (id(output) not in used and count(output) <= _OWN_REFERENCES):
                    return False
        for value in step.values:
            if type(value) is list:
                add(map(id, value))
        add(map(id, step.values))
    return True


_OWN_REFERENCES: Final = 3


def _writes(step: Step) -> set[Hashable]:
    found: set[Hashable] = {place_of(value) for value in step.writes()}
    if step.is_random:
        found.add(_RANDOM)
    return found


def held_outside(steps: Sequence[Step]) -> dict[int, Pending]:
    """Return the pending values that somebody outside the record refers to."""
    inside: Counter[int] = Counter()
    known: dict[int, Pending] = {}
    for step in steps:
        for value in step.outputs:
            if value is not None:
                inside[id(value)] += 1
                known[id(value)] = value
        for value in step.values:
            for item in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(item, Pending):
                    inside[id(item)] += 1
                    known[id(item)] = item
    value = item = None
    found = {}
    while known:
        key, value = known.popitem()
        # This name and the call's own argument are not counted.
        if sys.getrefcount(value) - 2 > inside[key]:
            found[key] = value
    return found
