"""Which recorded steps must run, and which are not observable: results that are never used are not computed.

Note [Required steps]
    Reading a value requires the step that makes it, and from there backwards through the record:
    (a) the steps that make the inputs of required steps;
    (b) earlier writes to any memory that a required step, or the reader, reads;
    (c) earlier observable steps that touch memory which a required step writes.
    All of these precede the steps that require them, so one pass from the end finds them. Random numbers are drawn from
    a memory of their own, the generators' state, which every random step reads and writes.

Note [Observable steps]
    Results that are never used are not computed (dead-code elimination). A step is observable if the result of it is
    referred to from outside the record, by the count of references less those of the record itself, or through the memory
    that it writes. A plan of a whole record knows which are (`observable_nodes`). Elsewhere that costs a pass over all
    references, so it is made only where rule (c) asks, and where steps are to be dropped.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from dispatch_core.arrays import owners

from .pending import Pending, storage_key
from .steps import Step, is_tied, values_in

if TYPE_CHECKING:
    from ..program.model import Program
    from .steps import RecordedCall

#: Stands among the values that are read or written for the state of the random number generators.
RANDOM: Final = "the state of the generators"


def required_steps(steps: Sequence[Step], reads: Sequence[Any], writes: Sequence[Any]) -> list[Step]:
    """Return, in order, the steps that must run before ``reads`` can be read and ``writes`` written.

    See Note [Required steps].
    """
    wanted = {id(value) for value in reads if isinstance(value, Pending)}
    read = set(map(_key_of, reads))
    written = set(map(_key_of, writes))
    seen: set[int] | None = None
    chosen = []
    for step in reversed(steps):
        if step.done:
            continue
        changes = _changes(step) if step.written or step.is_random else ()
        need = not wanted.isdisjoint(map(id, step.outputs)) or not read.isdisjoint(changes)
        if not need:
            if not written or (written.isdisjoint(changes) and written.isdisjoint(storage_keys_in(step.values))):
                continue
            if seen is None:
                seen = set(map(id, observable_steps(steps)))
            if id(step) not in seen:
                continue
        chosen.append(step)
        written.update(changes)
        read.update(storage_keys_in(step.values))
        for value in step.values:
            if isinstance(value, Pending):
                wanted.add(id(value))
            elif type(value) is list:
                wanted.update(map(id, value))
    chosen.reverse()
    return chosen


def observable_steps(steps: Sequence[Step]) -> list[Step]:
    """Return, in order, the steps with an effect that is observable.

    A step is if its result is referred to from outside the record, if it writes to memory that is observable, if it draws
    random numbers or orders streams, or if an observable step uses its result. See Note [Observable steps].
    """
    if are_all_observable(steps):
        return list(steps)
    known, used, live = _collect_references(steps)
    memories = {known[key].memory for key in live}
    chosen = []
    for step, ids in zip(reversed(steps), reversed(used), strict=True):
        if step.done or (
            live.isdisjoint(map(id, step.outputs))
            and not (step.written and any(_is_there(value) or value.memory in memories for value in step.writes()))
            and not (step.is_random or step.orders_streams)
        ):
            continue
        chosen.append(step)
        live.update(ids)
        memories.update([known[key].memory for key in ids])
    chosen.reverse()
    return chosen


def observable_nodes(program: Program) -> list[int]:
    """Return, in order, the nodes of a program with an effect that is observable; see Note [Observable steps]."""
    needed = {value.index for value in program.values if value.kept}
    memories = {value.place for value in program.values if value.number is None and (value.given or value.kept)}
    found = []
    for index in range(len(program.nodes) - 1, -1, -1):
        node = program.nodes[index]
        outputs = [output for output in node.outputs if output is not None]
        if (
            any(output.index in needed for output in outputs)
            or any(value.place in memories for value in node.written)
            or is_tied(node.tags)
            or not (outputs or node.written)
        ):
            found.append(index)
            for value in node.inputs():
                needed.add(value.index)
                memories.add(value.place)
    found.reverse()
    return found


def are_all_observable(records: Sequence[RecordedCall]) -> bool | None:
    """Return whether each call is observable, by a quick look from the end; None where that takes a longer one."""
    used: set[int] = set()
    add, count = used.update, sys.getrefcount
    found: bool | None = True
    for record in reversed(records):
        made: object
        if isinstance(record, tuple):
            kind, values, made = record[0], record[1], record[2]
        else:
            kind, values, made = type(record), record.values, record.outputs
            if record.done:
                return None
        if kind.written:
            if found and not all(_is_there(value) for index in kind.written for value in values_in(values[index])):
                found = None
        elif is_tied(kind.entry.tags) or kind.orders_streams:
            pass
        elif isinstance(made, tuple):
            for output in made:
                # The references of the tuple of results, of this name and of the counting are not outside ones.
                if output is not None and (id(output) in used or count(output) > 3):
                    break
            else:
                return False
        elif id(made) not in used and count(made) <= 3:
            return False
        for value in values:
            if type(value) is list:
                add(map(id, value))
        add(map(id, values))
    return found


def externally_referenced(steps: Sequence[Step]) -> set[int]:
    """Return the ids of the pending values that are referred to from outside the record."""
    return _collect_references(steps)[2]


def _collect_references(steps: Sequence[Step]) -> tuple[dict[int, Pending], list[list[int]], set[int]]:
    """Return the pending values of the record by their ids, the ids of each step's, and those that are held outside."""
    #: How often the record refers to each.
    inside: dict[int, int] = {}
    known: dict[int, Pending] = {}
    used: list[list[int]] = []
    for step in steps:
        ids = []
        for value in (*step.values, *step.outputs):
            for item in value if type(value) is list else (value,):
                if isinstance(item, Pending):
                    key = id(item)
                    ids.append(key)
                    known[key] = item
                    inside[key] = inside.get(key, 0) + 1
        used.append(ids)
    value = item = None
    return known, used, {key for key, count in zip(known, count_references(known), strict=True) if count > inside[key]}


def count_references(known: Mapping[int, Any]) -> list[int]:
    """Return how many references there are to each value besides that of the table."""
    count, own = sys.getrefcount, _OWN
    return [count(value) - own for value in known.values()]


#: How many references the table and the counting itself hold; the number depends on the interpreter.
_OWN = 0
_OWN = count_references({0: object()})[0]


def _key_of(value: object) -> Hashable:
    return RANDOM if value is RANDOM else storage_key(value)


def storage_keys_in(values: Iterable[Any]) -> list[Hashable]:
    """Return the storage keys of all arrays and pending values among arguments."""
    known = owners.ARRAY_TYPES
    return [
        storage_key(item)
        for value in values
        for item in (value if type(value) is list else (value,))
        if type(item) in known
    ]


def _changes(step: Step) -> set[Hashable]:
    """Return the storage keys that a step writes to."""
    found: set[Hashable] = set(map(storage_key, step.writes()))
    if step.is_random:
        found.add(RANDOM)
    return found


def _is_there(value: object) -> bool:
    """Return whether memory is there already, so that it may hold arrays that the record does not know."""
    return not isinstance(value, Pending) or value.value is not None or value.memory.key is not None
