"""Memory of overwritten arrays, which a captured function's program may use up.

Note [Donation]
    Where arrays cannot be written to, a tensor that a call writes to holds another array afterwards. A compiler of whole
    programs can put that one into the memory of the first, if nothing needs the first any more. Which arrays these may be
    is found when a call is planned: one tensor among the inputs holds the array, gets another one by the call, and nothing
    that the call leaves is the first one. Planners decide which of these they use up.

    Whether something else refers to the array is counted at each replay, right before the step that would use it up: the
    references must be those of the tensor and of the replay itself. Another tensor, a node that has saved it, a list of the
    user's each add one, and then the step gets a copy. Lent memory is copied, too.

    Where a replay fails after that, the tensors that it has not yet given other arrays carry the replay's error: reading
    them raises it. A view of an array that is still there is made again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from sys import getrefcount
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dispatch_core.arrays.frontend import frontend_of
from dispatch_core.arrays.lent_memory import LENT, is_lent
from dispatch_core.arrays.owners import ARRAY_TYPES
from dispatch_core.arrays.protocols import bind
from dispatch_core.errors import BackendError

from ..record.errors import PipelineError
from ..record.pending import pending_type, storage_key

if TYPE_CHECKING:
    from ..capture.capture_inputs import Input
    from ..capture.recorded import RecordedRun
    from ..record.steps import Step
    from ..run.planned_runs import PlannedRun
    from ..run.session import Session
    from .fingerprints import ProgramFingerprint
    from .model import PlannedStep, Program


def find_successors(found: ProgramFingerprint, steps: Sequence[Step], recorded: RecordedRun) -> dict[int, int]:
    """Return the values of a segment whose memory may be used up, each with the value in its place."""
    own = set(map(id, steps))
    is_later = False
    needed = set(recorded.kept)
    for step in recorded.steps:
        if id(step) in own:
            is_later = True
        elif is_later:
            needed.update(map(id, step.inputs()))
    known = Counter(id(array) for each in recorded.inputs for array in each.arrays())
    successors = {}
    for index, value in recorded.rebound.items():
        given = recorded.inputs[index]
        slot, successor = found.slots.get(id(given.array)), found.slots.get(id(value))
        if slot is None or successor is None or not given.mask or ARRAY_TYPES[given.array_type].mutable:
            continue
        if id(given.array) not in needed and known[id(given.array)] == 1:
            successors[slot] = successor
    return successors


def check_donated(planned: PlannedStep, program: Program, turn: Sequence[int]) -> None:
    """Refuse a planned step that uses up memory which is needed; ``turn`` says after which node each node runs."""
    for index in planned.donated:
        if index >= len(program.values) or program.values[index].successor is None or planned.copy is None:
            raise BackendError(
                f"a planned step uses up value {index}, which is needed afterwards",
                hint="only given values with a successor may be donated, and PlannedStep.copy copies them",
            )
        for place, node in enumerate(program.nodes):
            if turn[place] > planned.nodes[-1] and any(each.index == index for each in node.inputs()):
                raise BackendError(
                    f"a planned step uses up value {index}, which {node.name} reads after it",
                    hint="donate a value in the last step that reads it",
                )


class DonatedArray(NamedTuple):
    """The holders of an array that a step of a replay uses up: its place among the values, and names in the replay."""

    slot: int
    tensor: str
    array: str
    spec: object
    #: How many references the tensor and the replay have to it.
    references: int


def list_donated(
    slots: Sequence[int], segments: Sequence[PlannedRun], inputs: Sequence[Input], tensors: Sequence[str]
) -> tuple[DonatedArray, ...]:
    """Describe the values that a step of the last of some segments uses up; ``tensors`` are the inputs' names."""
    places = {segments[-1].found.slots.get(id(each.array)): place for place, each in enumerate(inputs)}
    found = []
    for slot in slots:
        place = places[slot]
        lists = sum(id(inputs[place].array) in each.found.slots for each in segments)
        found.append(DonatedArray(slot, tensors[place], f"x{place}", inputs[place].spec, _OWN + lists))
    return tuple(found)


def keep_shared(copy: Callable[[Any], Any] | None, donated: Sequence[DonatedArray], values: list[Any]) -> list[int]:
    """Replace the arrays that a step would use up by copies, where something else refers to them.

    Return the places of these.
    """
    assert copy is not None
    copied = []
    for index, _, _, _, references in donated:
        if getrefcount(values[index]) > references or (LENT and is_lent(storage_key(values[index]))):
            values[index] = copy(values[index])
            copied.append(index)
    return copied


def _count_own() -> int:
    """Return how many references a replay has to an array, with its tensor's: they depend on the interpreter."""
    tensor = SimpleNamespace(data=object())
    array = tensor.data
    found = 0

    def count(values: list[Any]) -> None:
        nonlocal found
        found = getrefcount(values[0])

    count([array])
    return found


#: The references of a tensor and a replay to an array, but for those of lists of values.
_OWN: Final = _count_own() - 1


def fail_holders(
    donated: Sequence[DonatedArray],
    names: Mapping[str, Any],
    kind: type[Step],
    session: Session,
    raised: BaseException,
) -> None:
    """Make reads of tensors raise the error of a replay that has used up their arrays; ``names`` are those of the replay."""
    error = raised
    if not isinstance(raised, Exception):
        error = PipelineError(
            f"a captured replay was interrupted ({type(raised).__name__}) after it had used up this tensor's array",
            hint="make the tensor again, or capture with donate=False",
        )
    for each in donated:
        tensor = names[each.tensor]
        if tensor._dispatch_data is names[each.array] and not _remake(tensor):
            pending = pending_type(kind.device, kind.index).of(each.spec, None, session)
            pending.error = error
            bind(tensor, pending)


def _remake(tensor: object) -> bool:
    """Bind a view to its base again; return whether that was possible."""
    frontend = frontend_of(tensor)
    try:
        return frontend is not None and frontend.capture is not None and frontend.capture.remake(tensor)
    except Exception:  # noqa: BLE001  # the device may be out of order; the first error is the one to tell
        return False
