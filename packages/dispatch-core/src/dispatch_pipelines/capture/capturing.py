"""Recording one call of a captured function: the inputs of its steps, and refusals of calls that a replay cannot repeat.

Note [Recordings that give up]
    With ``fullgraph=False`` a refusal does not end the call: it may have drawn from Python's generators, or written to
    files, and must not do so twice. The recording is closed where it is, and the rest of the call runs in an ordinary
    pipeline. Where `Recording.refuse` returns, its callers go on as they do outside of a recording.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import Any, Final

from dispatch_core.arrays import access, owners
from dispatch_core.arrays.caller_streams import CapturedStreams
from dispatch_core.arrays.frontend import CAPTURING, FRONTENDS, frontend_of
from dispatch_core.arrays.indices import SEVERAL
from dispatch_core.errors import CaptureError
from dispatch_core.keys import context
from dispatch_core.keys.table import DispatchKey
from dispatch_core.lazy_text import repr_by_attributes
from dispatch_core.tracebacks import line_of

from ..record.blocks import current
from ..record.callers import caller_location
from ..record.errors import before_read, error_of
from ..record.liveness import RANDOM
from ..record.pending import Pending, PendingMemory, pending_type, storage_key
from ..record.stats import HOST_READ
from ..record.steps import Step
from ..run.device_copies import HostValue, is_host_read, key_of, record_copy
from ..run.handle import Pipeline, check_options
from ..run.session import Session
from .capture_inputs import HostData, Input
from .capture_parts import CapturePart
from .live_numbers import Expression, LiveFloat, LiveNumber, make_live, operand_of, to_plain

#: How many steps one call may have.
_MOST: Final = sys.maxsize


class Recording:
    """The record of one call of a captured function, for its replays."""

    __repr__ = repr_by_attributes("name", "is_open")

    #: Whether a refusal closes it; and the first refusal. See Note [Recordings that give up].
    gives_up = False
    refusal: CaptureError | None = None

    def __init__(self, name: str, *, gives_up: bool = False) -> None:
        self.name, self.gives_up = name, gives_up
        #: The context's masks, and the settings of the frontends, where the call begins.
        self.state = context.current()
        asked = [each.capture.environment for each in FRONTENDS.values() if each.capture is not None]
        self.environment = [(ask, ask()) for ask in asked]
        #: Whether the function runs.
        self.is_open = True
        #: id of a tensor → the input; and id of an array.
        self.inputs: dict[int, Input] = {}
        self.holders: dict[int, Input] = {}
        #: id of a number among the steps' arguments → the number, and where it comes from.
        self.live: dict[int, tuple[float, Expression]] = {}
        #: Whether a shape rule is asked with live numbers; its answer is kept only if it does not depend on their values.
        self.is_asking = False
        #: Conditions on live numbers and their answers.
        self.decisions: list[tuple[Expression, Any]] = []
        self._decided: set[Hashable] = set()
        #: Conditions on where inputs lie in their memory; see `depend_on_places`.
        self.places: list[tuple[Callable[..., bool], list[Input | None]]] = []
        #: Functions and the values that they must have.
        self.guards: list[tuple[Callable[[], Any], Any]] = []
        #: The streams of devices and the events that the call names.
        self.streams = CapturedStreams()
        self.effects: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []
        self.parts: dict[int, CapturePart] = {}
        self._memories: dict[int, PendingMemory] = {}
        #: id of a tensor that the call has made, and that holds an array that was there → the tensor.
        self._own: dict[int, Any] = {}
        self.session = CaptureSession(self)
        self.begin()

    def begin(self) -> None:
        """Ask the frontends for their parts."""
        for marker, frontend in list(FRONTENDS.items()):
            if frontend.capture is not None and (part := frontend.capture.capture_part(self)) is not None:
                self.parts[marker] = part
        if self.is_open:
            CAPTURING.append(self)

    def is_here(self) -> bool:
        """Return whether this thread or task records the call."""
        return current_recording() is self

    def end(self, *, failed: bool) -> None:
        """Record nothing any more."""
        self._close()
        while self.parts:
            self.parts.popitem()[1].end(failed=failed)

    def restore_failed(self) -> None:
        """Give tensors that were there before the call, and whose new arrays failed steps should have made, their old ones.

        Where arrays cannot be written to, a write makes another array.
        """
        for each in self.inputs.values():
            tensor: Any = each.tensor
            data = getattr(tensor, "_dispatch_data", None)
            if isinstance(data, Pending) and error_of(data) is not None:
                tensor._dispatch_data = each.array
                tensor._dispatch_mask &= ~_PIPELINE

    def _close(self) -> None:
        self.is_open = False
        if self in CAPTURING:
            CAPTURING.remove(self)

    def describe_progress(self) -> tuple[str, int]:
        """Return the present work, and the number of steps recorded so far; any thread may ask."""
        session = self.session
        stage = "recording" if self.is_open else "planning and running"
        return f"{self.name}: {stage}", session.stats.recorded + len(session.records)

    # Calls of the recorders and the frontends.

    def see(self, tensor: object, place: str = "") -> None:
        """Take a tensor as an input, if it was there before the call; frontends tell of those read without an operator."""
        if not self.is_open:
            return
        known = self.inputs.get(id(tensor))
        if known is not None:
            if place:
                known.twins.append(place)
            return
        if id(tensor) in self._own:
            return
        data = getattr(tensor, "_dispatch_data", tensor)
        if isinstance(data, Pending):
            if data.session is self.session:
                return
            is_raw = tensor is data
            data = _bring_in(tensor, data)
            tensor = data if is_raw else tensor
        known = self.holders.get(id(data))
        if known is not None and (known.data is not None or (tensor is data and not place)):
            return
        if not access.is_described(data):
            self.refuse(f"An object of type {type(data).__module__}.{type(data).__qualname__} is met", _SHAPELESS_HINT)
            return
        made = self.inputs[id(tensor)] = Input(tensor, data, place)
        self.holders.setdefault(id(data), made)
        part = self.parts.get(getattr(frontend_of(tensor), "marker", 0)) if tensor is not data else None
        if part is not None:
            part.meet(tensor)

    def own(self, tensor: Any) -> None:
        """Take note that the call has made a tensor, though it holds an array that was there: a view of all of it."""
        if not isinstance(tensor._dispatch_data, Pending):
            self._own[id(tensor)] = tensor

    def see_part(self, tensor: object, owner: object, get: Callable[[Any], Any]) -> None:
        """Take a tensor as an input that each replay finds by ``get(owner)``: another object may stand there then."""
        self.see(owner)
        self.see(tensor)
        known = self.inputs.get(id(tensor))
        if known is not None and not known.place and known.get is None and id(owner) in self.inputs:
            known.owner, known.get = self.inputs[id(owner)], get

    def is_input(self, tensor: object) -> bool:
        """Return whether a tensor was there before the call."""
        return id(tensor) in self.inputs

    def is_made(self, tensor: object) -> bool:
        """Return whether the call has made a tensor's array."""
        data = getattr(tensor, "_dispatch_data", tensor)
        if isinstance(data, Pending):
            return data.session is self.session
        if id(tensor) in self._own:
            return True
        known = self.holders.get(id(data))
        return known is not None and known.data is not None

    def guard(self, function: Callable[[], Any], *value: object) -> None:
        """Replay only where ``function()`` has the value that it has now, or the one that is given."""
        self.guards.append((function, value[0] if value else function()))

    def depend_on_places(self, holds: Callable[..., bool], *values: object) -> None:
        """Replay only where ``holds`` is true of the numbers of bytes by which the memory of ``values`` begins later.

        Each lies in an input, as its view or as the input itself; the call's own memory has no place of its own.
        """
        inputs = [self._input_of(each) for each in values]
        if self.is_open and any(each is not None for each in inputs):
            self.places.append((holds, inputs))

    def _input_of(self, value: object) -> Input | None:
        """Return the input in which a value lies, or None."""
        data = getattr(value, "_dispatch_data", value)
        if isinstance(data, Pending):
            memories = self._memories.items() if data.session is self.session else ()
            key = next((key for key, memory in memories if memory is data.shared), None)
        else:
            self.see(value)
            key = id(data)
        return None if key is None else self.holders.get(key)

    def effect(self, function: Callable[..., Any], *arguments: object, to: object = None) -> None:
        """Call a function at each replay; live numbers among its arguments are that replay's.

        ``to`` is the live number whose function reads what the first argument is written to.
        """
        operands = tuple(map(operand_of, arguments))
        self.effects.append((function, operands))
        if isinstance(to, LiveNumber):
            to.expression.after = operands[0]

    def number(self, function: Callable[[], Any], *, any_type: bool = False) -> Any:
        """Return ``function()`` as a number that each replay asks for again; see Note [Live numbers] in `live_numbers`.

        With ``any_type`` its type is a condition.
        """
        found, expression = to_plain(function()), Expression(function)
        if any_type:
            self.decide(Expression(type, (expression,)), type(found))
        return make_live(self, found, expression)

    def compute(self, function: Callable[..., Any], *numbers: object) -> Any:
        """Return ``function(*numbers)``, which each replay computes again where one of them is live."""
        operands = tuple(map(operand_of, numbers))
        found = function(*map(to_plain, numbers))
        is_live = any(isinstance(each, LiveNumber) for each in numbers)
        return make_live(self, found, Expression(function, operands)) if is_live else found

    def decide(self, expression: Expression, answer: object) -> None:
        """Take note, once, of a condition on live numbers that has decided something."""
        operands = [id(each) if isinstance(each, Expression) else (type(each), each) for each in expression.operands]
        key = expression.function, *operands
        if self.is_open and key not in self._decided:
            self._decided.add(key)
            self.decisions.append((expression, answer))

    def refuse(self, what: str, hint: str) -> None:
        """Raise the error for something that a replay could not do, or give up; see Note [Recordings that give up]."""
        error = CaptureError(
            f"{what} while {self.name} is captured\nCalled at {line_of(*caller_location())}", hint=hint
        )
        if not self.gives_up:
            raise error
        self.refusal = self.refusal or error
        self._close()
        self.session.record_plainly()

    def refuse_read(self, operator: str) -> None:
        """Refuse a value that an operator reads on the host."""
        self.refuse(f"{operator} reads a value", _READ_HINT)

    def refuse_eager(self, operator: str, why: str) -> None:
        """Refuse a call that cannot be recorded."""
        self.refuse(f"{operator} runs at once ({why})", _READ_HINT)

    def refuse_state(self) -> None:
        """Refuse to let a generator's state be read or set."""
        self.refuse("The state of a random number generator is read or set", _SEED_HINT)

    # Questions of the recorders.

    def meet(self, values: tuple[Any, ...], unread: Collection[int] = ()) -> tuple[Any, ...]:
        """Note the tensors among a call's arguments, and return the arguments as steps keep them.

        The values at the places ``unread`` do not matter to the call.
        """
        return tuple([self._meet_one(value, index not in unread) for index, value in enumerate(values)])

    def _meet_one(self, value: Any, is_read: bool) -> Any:
        if value is None or isinstance(value, (str, bool)):
            return value
        if isinstance(value, LiveFloat) and value.recording is self:
            plain = value.value * 1.0  # an object of its own
            self.live[id(plain)] = plain, value.expression
            return plain
        if isinstance(value, LiveNumber):
            return value.kind(value)
        if isinstance(value, (list, tuple)):
            found = [self._meet_one(each, is_read) for each in value]
            return value if all(map(_is, found, value)) else type(value)(found)
        if type(value) in owners.ARRAY_TYPES or hasattr(value, "_dispatch_data"):
            data = getattr(value, "_dispatch_data", value)
            if is_read and not isinstance(data, Pending):
                # Else the recording, which runs as a pipeline, would carry the error of a failed replay into all it writes.
                before_read(data)
            self.see(value)
        return value

    def ask(self, rule: Callable[..., Any], values: Iterable[Any]) -> None:
        """Ask a shape rule with live numbers in their places, so that what it decides by them is a condition."""
        values = list(values)
        live = [self._revive(value) for value in values]
        if not all(map(_is, live, values)):
            self.is_asking = True
            try:
                rule(*live)
            finally:
                self.is_asking = False

    def _revive(self, value: Any) -> Any:
        """Return the live number that an argument of a step stands for; anything else as it is."""
        if type(value) in (list, tuple):
            found = [self._revive(each) for each in value]
            return value if all(map(_is, found, value)) else found
        known = self.live.get(id(value))
        return value if known is None else make_live(self, *known)

    def put(self, operator: str, make: Callable[..., Any], values: tuple[Any, ...]) -> Any:
        """Make an array of the host's data; see Note [The host's data] in `capture_inputs`."""
        if isinstance(values[0], HostValue):
            return record_copy(values[0], make, values[1:])
        if any(each.place and each.tensor is each.array for each in self.inputs.values()):
            self.refuse("A tensor is made on the host, where an argument is an array of the host's", _HOST_HINT)
        if not self.is_open:
            return make(*values)
        values = (_read_numbers(values[0]), *values[1:])
        found = make(*values)
        data = getattr(found, "_dispatch_data", found)
        known = self.holders[id(data)] = Input(found, data, "")
        known.data = HostData(operator, make, values, data)
        # Views of it will be pending, and get their keys from it.
        key = key_of(data)
        index = access.device(data).index if key & SEVERAL[0] else None
        pending = pending_type(key, index).of(known.spec, self.memory_of(data), self.session)
        pending.value = data
        return pending

    def memory_of(self, array: object) -> PendingMemory:
        """Return the memory of an array that is there, for its views."""
        memory = self._memories.get(id(array))
        if memory is None:
            key: Hashable = storage_key(array)
            memory = self._memories[id(array)] = PendingMemory(key, access.storage_offset(array))
        return memory


def _read_numbers(value: Any) -> Any:
    """Return the host's data with the values of live numbers, which are conditions."""
    if isinstance(value, LiveNumber):
        return value.kind(value)
    if type(value) in (list, tuple):
        found = [_read_numbers(each) for each in value]
        return value if all(map(_is, found, value)) else type(value)(found)
    return value


def _is(one: object, other: object) -> bool:
    return one is other


def _bring_in(tensor: Any, data: Pending) -> Any:
    """Store in a tensor the array of a value that another pipeline has made, and return the array."""
    if data.value is None or data.error is not None:
        data.session.compute((data,))
    if tensor is not data:
        tensor._dispatch_data = data.value
        tensor._dispatch_mask &= ~_PIPELINE
    return data.value


_PIPELINE: Final = DispatchKey.Pipeline.value


_OPTIONS: Final = check_options({"inputs_unchanged": True})


class CaptureSession(Session):
    """The pipeline of one recorded call: it runs nothing as long as the function does."""

    recording: Recording
    defers_all = True

    def __init__(self, recording: Recording) -> None:
        super().__init__(_OPTIONS)
        self.recording = recording
        self.ignores_lent = True

    def record_plainly(self) -> None:
        """Wait and run as an ordinary pipeline from now on."""
        self.defers_all = self.ignores_lent = False
        self.count_remaining()

    def meet(self, values: tuple[Any, ...], unread: Collection[int]) -> tuple[Any, ...]:
        """Take the tensors among a call's arguments as inputs."""
        return self.recording.meet(values, unread)

    def ask(self, rule: Callable[..., Any], values: Iterable[Any]) -> None:
        """Ask a shape rule with live numbers, whose values may become conditions."""
        self.recording.ask(rule, values)

    def put(self, operator: str, make: Callable[..., Any], values: tuple[Any, ...]) -> Any:
        """Make an array of the host's data, which a replay makes again."""
        return self.recording.put(operator, make, values)

    def check_eager(self, operator: str, why: str) -> None:
        """Refuse a call that runs at once."""
        self.recording.refuse_eager(operator, why)

    def count_remaining(self) -> None:
        """Set no limit while the call is recorded."""
        super().count_remaining()
        if self.is_open and self.recording.is_open:
            self.remaining = _MOST

    def compute(self, wanted: Iterable[Any]) -> None:
        """Refuse to compute a value while the function runs."""
        wanted = tuple(wanted)
        if self.recording.is_open:
            if RANDOM in [each for each in wanted if isinstance(each, str)]:
                self.recording.refuse_state()
            self.recording.refuse("A value is read", _READ_HINT)
        super().compute(wanted)

    def run_before(self, reads: Sequence[Any], writes: Sequence[Any]) -> None:
        """Refuse to let memory be read or written while the function runs."""
        if self.recording.is_open:
            self.recording.refuse("Memory is handed out", _READ_HINT)
        super().run_before(reads, writes)

    def run_eagerly(self, step: Step, why: str) -> Any:
        """Refuse a call that cannot be recorded."""
        if self.recording.is_open:
            if why == HOST_READ:
                if is_host_read(step) and not self.recording.gives_up:
                    return HostValue(self.recording, step)
                self.recording.refuse_read(step.name)
            self.recording.refuse_eager(step.name, why)
        return super().run_eagerly(step, why)

    def flush(self) -> None:
        """Run the steps once the function has returned."""
        if self.recording.is_open:
            self.recording.refuse("A pipeline is flushed", "leave out the flush: a captured function runs as a whole")
        super().flush()


_READ_HINT: Final = (
    "a replay has no values where Python decides: compute with tensors (where, masks), return the tensor and read it"
    " outside, or read it before the call"
)
_SHAPELESS_HINT: Final = (
    "it has no shape and dtype, by which replays know their inputs: call the function without capture, or give its"
    " ArrayType functions for shape and dtype"
)
_HOST_HINT: Final = "pass a tensor: a replay would not see the elements of another array"
_SEED_HINT: Final = "set the seed before the call: replays draw from the live generator"


class CaptureBlock(Pipeline):
    """The block in which one call is recorded."""

    def __init__(self, recording: Recording) -> None:
        super().__init__()
        self._session = recording.session


def current_recording() -> Recording | None:
    """Return the recording of a captured function in this context, or None."""
    session = current()
    recording = None if session is None else session.recording
    return recording if recording is not None and recording.is_open else None
