"""The plans of a captured call: its steps device by device, with values numbered, and steps that a replay leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING

from dispatch_core.arrays.thread_device import work_on

from ..program import plan as plans
from ..program.donation import find_successors
from ..program.fingerprints import ProgramFingerprint, build, fingerprint
from ..program.model import DEFAULTS, Node, PlanOptions, Value
from ..record.blocks import paused
from ..record.errors import describe_call, late_error
from ..record.pending import Pending, PendingMemory, storage_key
from ..record.steps import Step, masks_of_kernels
from .executors import place_of

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
        self.device, self.place = steps[0].device, place_of(type(steps[0]))
        faults = [partial(late_error, describe_call(step), step.line) for step in steps]
        self.program = build(self.found, PlanOptions(check_indices=check_indices), faults)
        for value, given in zip(self.program.values, self.found.values, strict=True):
            if value.number is None:
                continue
            live = recorded.recording.live.get(id(given))
            if live is None:
                value.constant = given
            else:
                value.source = live[1]
        # A planner may run kernels on stand-ins.
        with paused(steps[0].state), nullcontext() if self.place is None else work_on(*self.place):
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
    """Return the fingerprint of a recorded call's steps; a value that its other steps read is kept as well."""
    own = set(map(id, steps))
    made = {id(value) for step in steps for value in step.outputs}
    read = {id(value): value for step in steps for value in step.inputs()}
    given = [
        value for key, value in read.items() if key not in made and isinstance(value, Pending) and value.value is None
    ]
    kept = {id(value) for step in recorded.steps if id(step) not in own for value in step.inputs()} | recorded.kept
    found = fingerprint(steps, DEFAULTS, given=given, kept=kept)
    assert found is not None
    return found


def split(recorded: RecordedRun, *, donate: bool, check_indices: bool) -> list[PlannedRun]:
    """Return the segments of a recorded call; with ``donate`` their plans may use up arrays that are overwritten."""
    groups: list[list[Step]] = []
    before = None
    for step in recorded.steps:
        here = step.device, step.index, step.orders_streams, masks_of_kernels(step.state)
        if here != before:
            groups.append([])
            before = here
        groups[-1].append(step)
    return [PlannedRun(group, recorded, donate=donate, check_indices=check_indices) for group in groups]
