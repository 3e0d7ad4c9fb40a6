"""The parts of a replay: comparing their results with the shape rules, and the error of one that fails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..operators import conformance
from .errors import located_error
from .model import Node
from .program import slot_of

if TYPE_CHECKING:
    from .plan import Part
    from .planned_runs import PlannedRun
    from .recorded import RecordedRun


class PartOfReplay:
    """A part of a plan, for comparing its results and for its error."""

    def __init__(self, name: str, segment: PlannedRun, part: Part, recorded: RecordedRun) -> None:
        self.part, self.device = part, segment.device
        #: The name of the list of values, and the line that runs the part.
        self.name, self.line = name, 0
        self.entries = [segment.steps[index].entry for index in part.nodes]
        calls = {id(step): call for step, call in zip(recorded.steps, recorded.calls, strict=True)}
        self.calls = [calls[id(segment.steps[index])] for index in part.nodes]
        self.nodes: list[Node] = [segment.program.nodes[index] for index in part.nodes]
        self.registration = slot_of(segment.steps[part.nodes[0]]).registration

    def compare(self, values: list[Any]) -> None:
        """Compare the results with the shape rules' answers; raises ``KernelResultError`` where one differs."""
        found = self.part.find_mismatch(values)
        if found is None:
            return
        index = self.part.nodes.index(found[0])
        if self.part.is_planned:
            names = ", ".join(entry.name for entry in self.entries)
            who = conformance.describe_planned_step(self.device, self.part.run, names)
        else:
            who = conformance.describe_kernel(self.device, self.registration)
        raise conformance.misfit_error(self.entries[index], found[1], who)

    def find_failed(self, values: list[Any], error: Exception) -> tuple[int, Exception]:
        """Return which call has failed, by running a planned step's calls one by one, and its error."""
        if len(self.nodes) > 1:
            for index, node in enumerate(self.nodes):
                try:
                    node.run(values)
                except Exception as raised:  # noqa: BLE001  # it is what is looked for
                    return index, raised
        return len(self.nodes) - 1, error


def find_fault(parts: Sequence[PartOfReplay], error: Exception) -> Exception:
    """Return the error for a replay of which a part has raised: it names the call, and where it was recorded."""
    trace = error.__traceback__
    part = next((each for each in parts if trace is not None and each.line == trace.tb_lineno), None)
    if part is None or trace is None:
        return error
    index, raised = part.find_failed(trace.tb_frame.f_locals[part.name], error)
    call = part.calls[index]
    return located_error(call.shown, "a captured replay", call.line, raised)
