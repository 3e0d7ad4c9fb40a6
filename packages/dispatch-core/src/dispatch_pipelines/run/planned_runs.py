"""The plans of a captured call: its steps device by device, with values numbered, and steps that a replay leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from dispatch_core.arrays import owners

from ..program import plan as plans
from ..program.donation import find_successors
from ..program.fingerprints import ProgramFingerprint, build
from ..program.model import Node, PlanOptions, Value
from ..record.blocks import paused
from ..record.errors import describe_call, late_error
from ..record.pending import Pending, PendingMemory, storage_key
from ..record.steps import Step, masks_of_kernels

if TYPE_CHECKING:
    from ..capture.recorded import RecordedRun
    from ..program.plan import Part


class PlannedRun:
    """Steps of a recorded call for one device and under one set of masks, and their plan."""

    def __init__(self, steps: Sequence[Step], recorded: RecordedRun, *, donate: bool, check_indices: bool) -> None:
        self.steps = steps
        self.found = number_values(steps, recorded)
        if donate:
            self.found.successors = find_successors(self.found, steps, recorded)
        self.device = steps[0].device
        faults = [partial(late_error, describe_call(step), step.line) for step in steps]
        self.program = build(self.found, PlanOptions(check_indices=check_indices), faults)
        with paused(steps[0].state):  # A planner may run kernels on stand-ins.
            self.plan = plans.complete(self.found, self.program, self.device)

    def is_last_use(self, part: Part, node: Node, recorded: RecordedRun) -> bool:
        """Return whether a step copies an array, layout and all, that the call has made and no later step needs."""
        if "copy" not in node.tags or not isinstance(node.arguments[0], Value):
            return False
        step = self.steps[part.nodes[0]]
        source, target = step.values[0], step.outputs[0]
        if not isinstance(source, Pending) or target is None or source.meta is not target.meta:
            return False
        key = storage_key(source)
        if not isinstance(key, PendingMemory) or id(source) in recorded.kept or key in recorded.reachable:
            return False
        place = next(index for index, each in enumerate(recorded.steps) if each is step)
        later = [value for each in recorded.steps[place + 1 :] for value in (*each.inputs(), *each.outputs)]
        return all(value is None or storage_key(value) != key for value in later)

    def is_same_view(self, step: Step, recorded: RecordedRun) -> bool:
        """Return whether a step makes a view that looks like its base, of a value that the call has made."""
        signature = step.entry.signature
        assert signature is not None
        results = signature.results
        if len(results) != 1 or results[0].kind != "view" or results[0].is_list or results[0].source != 0:
            return False
        source, target = step.values[0], step.outputs[0]
        return (
            isinstance(source, Pending)
            and target is not None
            and source.meta is target.meta
            and id(target) not in recorded.kept
        )


def number_values(steps: Sequence[Step], recorded: RecordedRun) -> ProgramFingerprint:
    """Find numbers for the values of steps, as `program.fingerprint` does, and for those that other steps make."""
    found = ProgramFingerprint(steps, None)
    own = set(map(id, steps))
    # A value that another segment reads is kept as well.
    outside = {id(value) for step in recorded.steps if id(step) not in own for value in step.inputs()}
    writes = False
    for step in steps:
        for index, value in enumerate(step.values):
            _number(value, found, is_number=index in step.int_values)
        for output in step.outputs:
            if output is not None:
                found.pending[len(found.values)] = output
                found.slots[id(output)] = len(found.values)
                found.values.append(None)
        writes |= bool(step.written)
    kept = 0
    for slot, output in found.pending.items():
        if id(output) in recorded.kept or id(output) in outside:
            kept |= 1 << slot
    found.places = _places(found) if writes else []
    found.key = (kept, *found.places)
    return found


def _number(value: Any, found: ProgramFingerprint, *, is_number: bool) -> None:
    kind = type(value)
    if kind in (float, complex) or (kind is int and is_number):
        found.values.append(value)
    elif kind in owners.ARRAY_TYPES:
        if id(value) not in found.slots:
            found.slots[id(value)] = len(found.values)
            found.values.append(value)
    elif kind in (list, tuple):
        for item in value:
            _number(item, found, is_number=False)


def _places(found: ProgramFingerprint) -> list[int]:
    """Return for each value a number that those in the same memory share."""
    numbers: dict[Any, int] = {}
    places = []
    for slot, value in enumerate(found.values):
        output = found.pending.get(slot, value)
        if type(output) not in owners.ARRAY_TYPES:
            places.append(-1)
            continue
        key = output if isinstance(output, Pending) and output.shared is None else storage_key(output)
        places.append(numbers.setdefault(key, len(numbers)))
    return places


def split(recorded: RecordedRun, *, donate: bool, check_indices: bool) -> list[PlannedRun]:
    """Return the segments of a recorded call; with ``donate`` their plans may use up arrays that are overwritten."""
    groups: list[list[Step]] = []
    before = None
    for step in recorded.steps:
        here = step.device, masks_of_kernels(step.state)
        if here != before:
            groups.append([])
            before = here
        groups[-1].append(step)
    return [PlannedRun(group, recorded, donate=donate, check_indices=check_indices) for group in groups]
