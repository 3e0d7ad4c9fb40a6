"""Steps on the streams that were current at their calls.

Note [Streams of recorded calls]
    A pipeline records the changes of a device's current stream, and its events, among the calls, as steps of the operators
    of ``streams``. Where there are such steps all that is observable runs, in its order: a call that is needed alone would
    run on another stream than its own. Each flush begins with the stream that was current before the first change, and ends
    with the one that is current now. Between steps on two streams, of which one reads or writes what the other makes,
    writes or reads, the flush puts an event, and it notes that the array is used there, so that its memory is not used
    again too early; what was done before the flush is ordered by the program, as in eager calls. A flush by another
    thread, which reads a value, works on the streams of the calls, too.

    The changes are those of one thread: a block of a stream that another one enters meanwhile, in the same pipeline,
    runs its calls at once (`OwnStreams`). Calls that another thread records outside of such blocks are not told apart.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from threading import get_ident
from typing import TYPE_CHECKING, Any, Final, Self

from dispatch_core.arrays.caller_streams import (
    CALLER,
    device_of,
    exchange_stream,
    forget_callers,
    note_use,
    order_streams,
    read_stream,
)
from dispatch_core.interrupts import Leaving
from dispatch_core.keys import context

from ..record.blocks import paused
from ..record.pending import Pending, known_storage_key

if TYPE_CHECKING:
    from dispatch_core.devices import Device

    from ..record.steps import Step
    from .session import Session

ENTER: Final = "streams::enter"


class StreamChanges(Leaving):
    """The streams of a flush: those at its beginning, those that are current now, and which step ran on which."""

    def __init__(self, steps: Sequence[Step], left: dict[Device, Any]) -> None:
        #: The streams that the flush before this one has left, by their devices; this one notes its own.
        self._left = left
        #: The device of each change, the stream before the first one, and the one that is current now.
        self._first = dict(left)
        self._last: dict[Device, Any] = {}
        for step in steps:
            if step.name == ENTER:
                device, entered, before = step.values
                if device not in self._last:
                    self._first[device] = before
                self._last[device] = entered
        self._now: dict[Device, Any] = {}
        #: id or storage key of a value → the stream that the step which made or wrote it ran on.
        self._made: dict[Hashable, tuple[Device, Any]] = {}
        #: The same → the streams that have read it since it was written to last.
        self._readers: dict[Hashable, dict[int, Any]] = {}

    def __enter__(self) -> Self:
        try:
            for device, before in self._first.items():
                self._now[device] = read_stream(device)
                if before is not CALLER:
                    exchange_stream(device, before)
            return self
        except BaseException:
            self._leave()
            raise

    def _leave(self) -> None:
        for device, stream in self._now.items():
            exchange_stream(device, stream)
        self._left.update(self._last)
        forget_callers()

    def begin(self, steps: Sequence[Step]) -> None:
        """Make the current stream wait for what others make or read for steps that run next; note what these do."""
        waited: set[tuple[Device, int]] = set()

        def wait(device: Device, before: Any, after: Any) -> None:
            if before != after and (device, id(before)) not in waited:
                waited.add((device, id(before)))
                order_streams(device, before, after)

        for step in steps:
            if step.orders_streams:
                continue
            for value in step.inputs():
                key = known_storage_key(value)
                # A view of its memory may have been written to after it was made.
                made = self._made.get(key) or self._made.get(id(value))
                device = device_of(value)
                if device in self._first:
                    here = read_stream(device)
                    self._readers.setdefault(id(value) if key is None else key, {})[id(here)] = here
                if made is not None and made[1] != (here := read_stream(made[0])):
                    wait(*made, here)
                    note_use(made[0], value.value if isinstance(value, Pending) else value, here)
            for value in step.writes():
                key = known_storage_key(value)
                for reader in self._readers.pop(id(value) if key is None else key, {}).values():
                    wait(device_of(value), reader, read_stream(device_of(value)))
            for value in (*step.outputs, *step.writes()):
                if value is not None and (device := device_of(value)) in self._first:
                    made = device, read_stream(device)
                    self._made[id(value)] = made
                    if (key := known_storage_key(value)) is not None:
                        self._made[key] = made


def is_elsewhere(streams: dict[Device, Any]) -> bool:
    """Return whether one of the streams is not the current one of its device."""
    return any(read_stream(device) != stream for device, stream in streams.items())


class OwnStreams(Leaving):
    """Keeps the calls of a stream's block out of a pipeline in which another thread works with streams of its own."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._pause: paused | None = None
        self._is_in = False

    def __enter__(self) -> Self:
        session, thread = self._session, get_ident()
        # The first is the one whose changes are recorded: an entry and a look, which no other thread comes between.
        session.stream_threads.append(thread)
        self._is_in = True
        if session.stream_threads[0] != thread:
            self._pause = paused(context.current())
            self._pause.__enter__()
        elif session.orders_streams and session.streams_of != thread:
            session.flush()
        session.streams_of = session.stream_threads[0]
        return self

    def _leave(self) -> None:
        if self._pause is not None:
            self._pause.__exit__(None, None, None)
            self._pause = None
        if self._is_in:
            self._is_in = False
            self._session.stream_threads.remove(get_ident())
