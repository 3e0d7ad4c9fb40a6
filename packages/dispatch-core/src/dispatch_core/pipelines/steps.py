"""What a pipeline records: steps, and the pending values that they will make.

Note [Pending-ness lives in the data]
    A pending value stands where a backend's array stands: in a frontend's tensor, or in the hands of a caller who uses raw
    arrays. It has a shape, strides and a dtype at once, from the meta device's kernel, and an array once its step has run.
    Its type tells its key, and with it Pipeline, so that a call on it arrives at the recorder, whether or not a pipeline is
    open where it is used.

Note [Storage keys]
    Two values may share memory. A place is what all values in one memory have in common: for an array what its backend's
    `ArrayType.storage` says, for a pending value an object that its views share, until one of them has an array.

Note [Whose line it is]
    A step remembers the innermost code that is neither the dispatcher's, nor of the package of the tensors' frontend or of
    the operator's library: the line that errors name. It keeps the code object and an instruction's offset, because to find
    the line's number takes longer than to record the step.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias

from ..arrays import access, owners
from ..arrays.types import ArrayType
from ..keys import context
from ..keys.table import DispatchKey
from .array_specs import ARRAY_SPECS
from .callers import is_internal

if TYPE_CHECKING:
    from types import CodeType

    from ..operators.entry import OperatorEntry
    from .session import Session

__all__ = [
    "INSIDE",
    "Pending",
    "PendingMemory",
    "RecordedCall",
    "Step",
    "caller_location",
    "known_storage_key",
    "pending_type",
    "step_type",
    "storage_key",
    "to_outputs",
    "to_step",
    "values_in",
]


class PendingMemory:
    """The identity of the memory that pending values will lie in."""

    __slots__ = ("error", "key")

    def __init__(self) -> None:
        #: What the arrays in it have in common, once there is one.
        self.key: Hashable = None
        #: Why what was to be written to it is not there.
        self.error: BaseException | None = None


class Pending:
    """A value that a recorded step will make."""

    __slots__ = ("__weakref__", "error", "meta", "session", "shared", "value")

    #: The key of the backend whose array this will be.
    key: DispatchKey

    #: Its layout: shape, strides, dtype. See Note [Array specs] in `array_specs`.
    meta: Any
    session: Session
    #: The memory, once somebody has asked for it.
    shared: PendingMemory | None
    value: Any
    error: BaseException | None

    @classmethod
    def of(cls, meta: Any, memory: PendingMemory | None, session: Session) -> Self:
        """Make one; `recorder_source` writes this out, as a constructor would cost too much there."""
        made = cls()
        made.meta, made.shared, made.session = meta, memory, session
        made.value = made.error = None
        return made

    @property
    def memory(self) -> PendingMemory:
        """The memory that it will lie in, which its views share."""
        memory = self.shared
        if memory is None:
            memory = self.shared = PendingMemory()
        return memory

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of all dimensions."""
        return access.shape(self.meta)

    @property
    def dtype(self) -> Any:
        """The scalar type of the elements."""
        return access.dtype(self.meta)

    def result(self) -> Any:
        """Give the backend's array, computed now if it is not there yet; raises the error of the step that failed."""
        return self.session.array_of(self)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return self.result().__array__(*args, **kwargs)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return copy.deepcopy(self.result(), memo)

    def __reduce__(self) -> Any:
        return _itself, (self.result(),)

    def __repr__(self) -> str:
        state = "failed" if self.error is not None else "pending" if self.value is None else "computed"
        return f"<{state} {self.key.label} array, shape {self.shape}, {self.dtype}>"


def _itself(array: Any) -> Any:
    """Return what a pickle or a copy of a pending value is made of."""
    return array


class Step:
    """One recorded call: what runs, on what, and what it makes."""

    __slots__ = ("code", "done", "error", "instruction", "outputs", "state", "values")

    # What all steps of one recorder have in common stands in their class; see `step_type`.
    entry: OperatorEntry
    #: The keys that the kernel is found by, once the step runs.
    mask: int
    #: The indices of the arguments that it writes to.
    written: tuple[int, ...]
    #: The layouts that its kernel's results were found to have.
    compared: set[Any]

    #: All arguments in schema order, with arrays and pending values where the caller had tensors.
    values: tuple[Any, ...]
    #: What the step makes, in the order of the schema; None for results that are not there.
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
    def where(self) -> tuple[CodeType, int] | None:
        """The caller's code and the instruction in it, or None."""
        return None if self.code is None else (self.code, self.instruction)

    @property
    def is_random(self) -> bool:
        """Whether the step draws random numbers, so that it is never left out and never changes places with another."""
        return "nondeterministic_seeded" in self.entry.tags

    @property
    def line(self) -> str:
        """File and line of the caller, or ""."""
        if self.where is None:
            return ""
        code, offset = self.where
        number = next(
            (line for start, end, line in code.co_lines() if start <= offset < end and line is not None),
            code.co_firstlineno,
        )
        return f"{code.co_filename}:{number}"

    def inputs(self) -> Iterator[Any]:
        """Yield the arrays and pending values among the arguments."""
        plan = self.entry.plan
        if plan is not None:
            for parameter, value in zip(plan.parameters, self.values, strict=False):
                if parameter.tensors:
                    yield from values_in(value)

    def writes(self) -> Iterator[Any]:
        """Yield the arrays and pending values that the step writes to."""
        for index in self.written:
            yield from values_in(self.values[index])

    def __repr__(self) -> str:
        return f"<Step {self.name}{' done' if self.done else ''}>"


#: What a call makes: a value, several, or none.
Made: TypeAlias = "Pending | tuple[Pending, ...] | None"
#: A step's class, its arguments, what it makes, the caller's code and the instruction in it, the context's masks; or a step.
RecordedCall: TypeAlias = "tuple[type[Step], tuple[Any, ...], Made, CodeType, int, context.State | None] | Step"


def to_outputs(made: Made) -> tuple[Pending, ...]:
    """Return what a note's call makes, as a step has it."""
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


def step_type(entry: OperatorEntry, mask: int, written: tuple[int, ...]) -> type[Step]:
    """Return the class of one recorder's steps."""
    own = {"entry": entry, "mask": mask, "written": written, "compared": set()}
    return type("Step", (Step,), {"__slots__": (), "__module__": __name__, **own})


def values_in(value: Any) -> Iterator[Any]:
    """Yield what stands in an argument that takes tensors: itself, or its elements; None left out."""
    if isinstance(value, (list, tuple)):
        yield from (item for item in value if item is not None)
    elif value is not None:
        yield value


def storage_key(value: Any) -> Hashable:
    """Return what ``value`` has in common with all others in the same memory; see Note [Storage keys]."""
    if isinstance(value, Pending):
        memory = value.memory
        if memory.key is None and value.value is not None:
            memory.key = access.storage_of(value.value)
        return memory if memory.key is None else memory.key
    known = ARRAY_SPECS.get(id(value))
    return access.storage_of(value) if known is None else known[2]


def known_storage_key(value: Any) -> Hashable:
    """Return the place of ``value``; None for a pending value whose memory nobody has asked for, and nobody shares."""
    return None if isinstance(value, Pending) and value.shared is None else storage_key(value)


_TYPES: Final[dict[DispatchKey, type[Pending]]] = {}


def pending_type(key: DispatchKey) -> type[Pending]:
    """Return the class of pending values of a backend's key."""
    found = _TYPES.get(key)
    if found is None:
        found = type(f"Pending{key.name}", (Pending,), {"__slots__": (), "key": key, "__module__": __name__})
        _TYPES[key] = found
    # Tables of types change when a backend is taken back, and comes again.
    if found not in owners.ARRAY_TYPES:
        known = owners.ARRAY_TYPES
        owner = owners.KEY_TYPES.get(key, ())
        owners.add_stand_in(
            ArrayType(
                found,
                shape=lambda pending: known[type(pending.meta)].shape(pending.meta),
                dtype=lambda pending: known[type(pending.meta)].dtype(pending.meta),
                strides=lambda pending: access.strides(pending.meta),
                # Views of the array are placed within its own memory, which a kernel may have made larger.
                storage_offset=lambda pending: access.storage_offset(
                    pending.meta if pending.value is None else pending.value
                ),
                storage=storage_key,
                mutable=all(each.mutable for each in owner),
                device_index=_device_index,
            ),
            key.value | DispatchKey.Pipeline,
        )
    return found


def _device_index(pending: Pending) -> int | None:
    """Tell on which device a pending value lies or will lie: where arrays are made now.

    What backends work with several devices at a time is not recorded; see ``runs_at_once`` in `recording`.
    """
    if pending.value is not None:
        return access.device(pending.value).index
    found = owners.KEY_TYPES.get(pending.key, ())
    owner = next((each for each in found if each.current_device is not None), None)
    if owner is None or owner.current_device is None:
        return None
    try:
        return owner.current_device()
    except Exception as error:  # noqa: BLE001  # see Note [Readers belong to vendors] in `arrays`
        fault = access.unread(owner, "current_device", error)
    raise fault


class _Inside(dict[str, bool]):
    """File of a code → whether it is the dispatcher's own, a frontend's or a plugin's, and not the user's."""

    def __missing__(self, file: str) -> bool:
        inside = self[file] = is_internal(file)
        return inside


INSIDE: Final = _Inside()


def caller_location() -> tuple[CodeType, int]:
    """Return the code of the user that is calling, and the instruction in it."""
    frame = sys._getframe(1)
    # `recorder_source` writes this out.
    while INSIDE[frame.f_code.co_filename] and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code, frame.f_lasti
