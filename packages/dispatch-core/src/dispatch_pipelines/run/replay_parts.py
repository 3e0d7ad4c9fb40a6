"""The error of a replay that fails: which of its parts has raised, and which call in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..program.donation import DonatedArray, fail_holders
from ..record.errors import PipelineError, located_error

if TYPE_CHECKING:
    from ..program.plan import Part
    from .session import Session


@dataclass
class ReplayLine:
    """The line of a replay that runs a part of a plan."""

    part: Part
    #: The name of the list of values there, and the holders of those that the part uses up.
    values: str
    donated: tuple[DonatedArray, ...] = ()
    number: int = 0


def find_fault(lines: Sequence[ReplayLine], session: Session, error: BaseException) -> BaseException:
    """Return the error for a replay of which a line has raised: it names the call, and where it was recorded.

    Tensors whose arrays are used up carry it; see Note [Donation] in `donation`.
    """
    trace = error.__traceback__
    if trace is None:
        return error
    names = trace.tb_frame.f_locals
    line = next((each for each in lines if each.number == trace.tb_lineno), None)
    fault = _locate(line, names[line.values], error) if line is not None and isinstance(error, Exception) else error
    for place, each in enumerate(lines):
        copied = names.get(f"copied{place}")
        if copied is None:
            continue
        values = names[each.values]
        used_up = [array for array in each.donated if values[array.slot] is None and array.slot not in copied]
        fail_holders(used_up, names, each.part.calls[0].kind, session, fault)
    return fault


def _locate(line: ReplayLine, values: list[Any], error: Exception) -> Exception:
    """Return the error of the call that has failed, which is found by running a planned step's calls one by one.

    Where arrays are used up they cannot run again: then it is one of them.
    """
    if isinstance(error, PipelineError) and error.is_late:
        return error.with_traceback(None)
    calls = line.part.calls
    failed, call = error, calls[-1]
    shown = call.shown
    if len(calls) > 1 and any(values[each.slot] is None for each in line.donated):
        shown = f"one of {len(calls)} calls that run as one program, from {calls[0].shown} to {shown},"
    elif len(calls) > 1:
        for each in calls:
            try:
                each.run(values)
            except Exception as raised:  # noqa: BLE001  # the error that is looked for
                failed, call, shown = raised, each, each.shown
                break
    return located_error(shown, "a captured replay", call.line, failed)
