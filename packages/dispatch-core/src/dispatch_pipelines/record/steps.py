"""Recorded calls: a tuple first, and a step once calls are to run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias

from dispatch_core.keys import context
from dispatch_core.keys.table import AUTOGRAD, DispatchKey
from dispatch_core.tracebacks import line_of

if TYPE_CHECKING:
    from types import CodeType

    from dispatch_core.operators.entry import OperatorEntry

    from .pending import Pending


#: The tag of operators that several processes call, each the same ones in one order. Captured functions alone record them.
EXCHANGES: Final = "exchanges"
_TIED: Final = frozenset({"nondeterministic_seeded", EXCHANGES})


def is_tied(tags: frozenset[str]) -> bool:
    """Return whether calls of an operator with these tags are never left out, and keep their order."""
    return not _TIED.isdisjoint(tags)


class Step:
    """One recorded call: its operator, its arguments and its results."""

    __slots__ = ("code", "done", "error", "instruction", "outputs", "state", "values")

    # All steps of one recorder share these attributes of their class; see `step_type`.
    entry: OperatorEntry
    #: The keys that the kernel is found by, once the step runs.
    mask: int
    #: The key of the device that it runs on.
    device: DispatchKey
    #: The index of the device among those of its type; None while one alone is in use.
    index: int | None
    #: Whether it changes the current stream, or orders streams by an event: it never changes places with other steps.
    orders_streams: bool
    #: The indices of the arguments that it writes to.
    written: tuple[int, ...]
    #: The indices of the arguments whose ints are values; see Note [Ints that are values] in `program`.
    int_values: tuple[int, ...]
    #: The array specs that its kernel's results were found to have.
    compared: set[Any]
    #: The function that runs such a step alone, behind the number of results that it stores; see `Node.alone`.
    alone: tuple[int, Callable[[list[Any]], None] | None]

    #: All arguments in schema order, with arrays and pending values where the caller had tensors.
    values: tuple[Any, ...]
    #: The results, in the order of the schema; None for results that are not there.
    outputs: tuple[Pending | None, ...]
    #: The caller's code and the instruction in it.
    code: CodeType | None
    instruction: int
    #: The context's masks at the call.
    state: context.State | None
    done: bool
    error: BaseException | None

    @classmethod
    def of(
        cls, values: tuple[Any, ...], outputs: tuple[Pending | None, ...], code: CodeType | None, instruction: int
    ) -> Self:
        """Make one."""
        made = cls()
        made.values, made.outputs = values, outputs
        made.code, made.instruction = code, instruction
        made.state, made.done, made.error = context.current(), False, None
        return made

    @property
    def name(self) -> str:
        """The operator's name."""
        return self.entry.name

    @property
    def is_random(self) -> bool:
        """Whether the step draws random numbers or exchanges data: it is never left out, nor changes places with such."""
        return is_tied(self.entry.tags)

    @property
    def line(self) -> str:
        """File and line of the caller, or ""."""
        return "" if self.code is None else line_of(self.code, self.instruction)

    def drop(self) -> None:
        """Mark the step as done without running it, and release the values that it keeps alive, its own results too."""
        self.done, self.values, self.outputs = True, (), ()

    def inputs(self) -> Iterator[Any]:
        """Yield the arrays and pending values among the arguments."""
        signature = self.entry.signature
        if signature is not None:
            yield from (value for _, value in signature.tensors(self.values))

    def writes(self) -> Iterator[Any]:
        """Yield the arrays and pending values that the step writes to."""
        for index in self.written:
            yield from values_in(self.values[index])

    def __repr__(self) -> str:
        return f"<Step {self.name}{' done' if self.done else ''}>"


#: The results of a call: a value, several, or none.
Made: TypeAlias = "Pending | tuple[Pending, ...] | None"
#: A step's class, its arguments, its results, the caller's code and the instruction in it, the context's masks; or a step.
RecordedCall: TypeAlias = "tuple[type[Step], tuple[Any, ...], Made, CodeType, int, context.State | None] | Step"


def to_outputs(made: Made) -> tuple[Pending, ...]:
    """Return the results of a record as a step has them."""
    return () if made is None else made if isinstance(made, tuple) else (made,)


def to_step(record: RecordedCall) -> Step:
    """Make a step of a record, as `Step.of` does, without its calls."""
    if not isinstance(record, tuple):
        return record
    kind, values, made, code, instruction, state = record
    step = kind()
    step.values, step.outputs = values, to_outputs(made)
    step.code, step.instruction, step.state = code, instruction, state
    step.done, step.error = False, None
    return step


def step_type(
    entry: OperatorEntry,
    mask: int,
    written: tuple[int, ...],
    int_values: tuple[int, ...] = (),
    *,
    device: DispatchKey,
    index: int | None = None,
    orders_streams: bool = False,
) -> type[Step]:
    """Return the class of a recorder's steps: the same for one that is made again, whose plans are then found again."""
    generation, known = entry.tables.steps
    if generation != entry.generation:
        known = {}
        entry.tables.steps = entry.generation, known
    look = mask, written, int_values, device, index
    found: type[Step] | None = known.get(look)
    if found is None:
        own = {"entry": entry, "mask": mask, "written": written, "int_values": int_values}
        own |= {
            "device": device,
            "index": index,
            "orders_streams": orders_streams,
            "compared": set(),
            "alone": (-1, None),
        }
        found = known[look] = type("Step", (Step,), {"__slots__": (), "__module__": __name__, **own})
    return found


def masks_of_kernels(state: context.State | None) -> context.State:
    """Return the context's masks as kernels see them: whether Autograd keys are excluded matters to tensors alone."""
    return (0, 0) if state is None else (state[0], state[1] & ~AUTOGRAD)


def values_in(value: object) -> Iterator[Any]:
    """Yield the values in an argument that takes tensors: itself, or its elements; None left out."""
    if isinstance(value, (list, tuple)):
        yield from (item for item in value if item is not None)
    elif value is not None:
        yield value
