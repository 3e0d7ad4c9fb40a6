"""The parts of a replay: comparing their results with the shape rules, and the error of one that fails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dispatch_core.calls import conformance
from dispatch_core.operators.kernel_names import describe_kernel, describe_planned_step

from ..program.donation import DonatedArray, fail_holders
from ..program.fingerprints import slot_of
from ..program.model import Node
from ..record.errors import PipelineError, located_error

if TYPE_CHECKING:
    from ..capture.recorded import RecordedRun
    from ..program.plan import Part
    from .planned_runs import PlannedRun


class PartOfReplay:
    """A part of a plan, for comparing its results and for its error."""

    def __init__(self, name: str, segment: PlannedRun, part: Part, recorded: RecordedRun) -> None:
        self.part, self.device = part, segment.device
        #: The name of the list of values, and the line that runs the part.
        self.name, self.line = name, 0
        self.entries = [segment.steps[index].entry for index in part.nodes]
        self.nodes: list[Node] = [segment.program.nodes[index] for index in part.nodes]
        self.registration = slot_of(segment.steps[part.nodes[0]]).registration
        #: The holders of the values that the part uses up.
        self.donated: tuple[DonatedArray, ...] = ()
        self.session = recorded.recording.session

    def compare(self, values: list[Any]) -> None:
        """Compare the results with the shape rules' answers; raises ``KernelResultError`` where one differs."""
        found = self.part.find_mismatch(values)
        if found is None:
            return
        index = self.part.nodes.index(found[0])
        if self.part.is_planned:
            names = ", ".join(entry.name for entry in self.entries)
            who = describe_planned_step(self.device, self.part.run, names)
        else:
            who = describe_kernel(self.device, self.registration)
        raise conformance.misfit_error(self.entries[index], found[1], who)

    def locate(self, values: list[Any], error: Exception) -> Exception:
        """Return the error of the call that has failed, which is found by running a planned step's calls one by one.

        Where arrays are used up they cannot run again: then it is one of them.
        """
        if isinstance(error, PipelineError) and error.is_late:
            return error.with_traceback(None)
        failed, call = error, self.nodes[-1]
        shown = call.shown
        if len(self.nodes) > 1 and any(values[each.slot] is None for each in self.donated):
            shown = f"one of {len(self.nodes)} calls that run as one program, from {self.nodes[0].shown} to {shown},"
        elif len(self.nodes) > 1:
            for each in self.nodes:
                try:
                    each.run(values)
                except Exception as raised:  # noqa: BLE001  # the error that is looked for
                    failed, call, shown = raised, each, each.shown
                    break
        return located_error(shown, "a captured replay", call.line, failed)


def find_fault(parts: Sequence[PartOfReplay], error: BaseException) -> BaseException:
    """Return the error for a replay of which a part has raised: it names the call, and where it was recorded.

    Tensors whose arrays are used up carry it; see Note [Donation] in `donation`.
    """
    trace = error.__traceback__
    if trace is None:
        return error
    names = trace.tb_frame.f_locals
    part = next((each for each in parts if each.line == trace.tb_lineno), None)
    fault = part.locate(names[part.name], error) if part is not None and isinstance(error, Exception) else error
    for place, each in enumerate(parts):
        copied = names.get(f"copied{place}")
        if copied is None:
            continue
        values = names[each.name]
        used_up = [array for array in each.donated if values[array.slot] is None and array.slot not in copied]
        fail_holders(used_up, names, each.device, each.session, fault)
    return fault
