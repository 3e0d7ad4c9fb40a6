"""Specs of guards for the compiled front of calls: the lines of `guards` as data.

They cover records that are tuples and write to nothing. Kinds are numbers that the front has, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dispatch_core.arrays import owners
from dispatch_core.operators.entry import CHANGES

from ..record.array_specs import ARRAY_SPECS, read_spec
from ..record.pending import Pending
from ..record.steps import to_outputs
from .guard_writer import same_constant

if TYPE_CHECKING:
    from ..record.steps import RecordedCall
    from .fingerprints import ProgramFingerprint

#: Kinds of checks: of a value that is known by then, a number, an array, a computed value, a constant, a list.
KNOWN, NUMBER, ARRAY, COMPUTED, FIXED, ITEMS = range(6)


def make_guard_spec(
    records: Sequence[RecordedCall], found: ProgramFingerprint, written: Callable[..., Any]
) -> dict[str, Any] | None:
    """Return the spec of the guard for the records of a fingerprint; None where the ``written`` function is all there is."""
    if found.places:
        return None
    walk, calls, made = _Walk(), [], []
    for record in records:
        if not isinstance(record, tuple):
            return None
        arguments = walk.find_checks(record[1], record[0].int_values)
        outputs = to_outputs(record[2])
        if record[2] is None:
            return None
        slots = [None if output is None else walk.add(output) for output in outputs]
        calls.append((record[0], arguments, isinstance(record[2], Pending)))
        made.append([*zip(slots, outputs, strict=True)])
    results = [
        tuple(
            [
                (-1, 0, 0, None)
                if slot is None
                else (slot, walk.uses.get(slot, 0), int(found.is_kept(output)), output.meta)
                for slot, output in each
            ]
        )
        for each in made
    ]
    return {
        "written": written,
        "changes": CHANGES,
        "change": CHANGES[0],
        "pending": Pending,
        "specs": ARRAY_SPECS,
        "same": same_constant,
        "calls": tuple([(*call, each) for call, each in zip(calls, results, strict=True)]),
        "checks": walk.checks,
        "results": sum(map(len, results)),
        "slots": walk.slots,
    }


class _Walk:
    """Numbers values as a fingerprint does, and counts their uses."""

    def __init__(self) -> None:
        self.slots = self.checks = 0
        self.uses: dict[int, int] = {}
        self._known: dict[int, int] = {}

    def add(self, value: object) -> int:
        """Give an array or a pending value a number, and return it."""
        slot = self._known[id(value)] = self._number()
        return slot

    def _number(self) -> int:
        self.slots += 1
        return self.slots - 1

    def find_checks(self, given: Sequence[Any], int_values: Sequence[int] = ()) -> tuple[Any, ...]:
        """Return the checks of a call's arguments, or of a list's elements."""
        self.checks += len(given)
        return tuple([self._check(value, is_value=index in int_values) for index, value in enumerate(given)])

    def _check(self, value: Any, *, is_value: bool) -> tuple[int, int, Any, Any]:
        slot, kind = self._known.get(id(value)), type(value)
        if slot is not None:
            self.uses[slot] = self.uses.get(slot, 0) + 1
            return KNOWN, slot, None, None
        if isinstance(value, Pending):
            return COMPUTED, self.add(value), kind, value.meta
        if kind is float or kind is complex or (kind is int and is_value):
            return NUMBER, self._number(), kind, None
        if kind in owners.ARRAY_TYPES:
            return ARRAY, self.add(value), read_spec(value), None
        if kind in (list, tuple) and not is_plain(value):
            return ITEMS, 0, kind, self.find_checks(value)
        return FIXED, 0, list(value) if kind is list else value, None


def is_plain(value: Any) -> bool:
    """Return whether a list consists of ints, strings and None; floats are values, as in a fingerprint."""
    return all(isinstance(item, (int, str)) or item is None for item in value)
