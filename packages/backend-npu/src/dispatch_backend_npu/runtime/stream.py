"""Streams: queues of work on a device, each of which does its work in order.

Every device has a default stream, which threads use until they choose another. The handle of a collected stream serves the
next stream that is created (see Note [Finalizers call nothing] in ``device``), so that the work and memory that the
collected stream left behind keep their order.

Note [Idle streams]
    A stream is busy from ``current()``, which a thread calls to queue work on it, until a thread has waited for it.
    Copies between host and device wait for busy streams only. A thread that has queued work sets a new mark
    (``stream.is_busy = True``); a thread that waits reads the mark before, and records it as done afterwards. So the work
    that another thread queues meanwhile is either waited for or has a newer mark.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Final, Self

from dispatch_core import BackendError
from dispatch_core.interrupts import Leaving

from ..acl.constants import ACL_STREAM_FAST_LAUNCH, ACL_STREAM_FAST_SYNC, ACL_STREAM_STATUS_COMPLETE
from ..acl.library import call, call_each
from .device import ensure, ensure_session, guard, leave_for, parse_index, thread, wait
from .session import AclSession, Stage, at_finalize, at_timeout
from .waiting import check_answers

if TYPE_CHECKING:
    from dispatch_core import Device

    from .event import Event


class _Queue:
    """A handle, and the marks of Note [Idle streams]: of the work that was queued last, and of the work that is done."""

    __slots__ = ("done", "mark", "pointer")

    def __init__(self, pointer: int) -> None:
        self.pointer = pointer
        self.mark = self.done = object()


class _Streams:
    """A device's default stream, all its handles, and those that no stream uses."""

    def __init__(self) -> None:
        #: False once the runtime was closed, or the device did not answer.
        self.is_open = True
        self.default: Stream | None = None
        self.queues: list[_Queue] = []
        self.idle: list[_Queue] = []

    def synchronize(self) -> None:
        """Wait for all work on the device."""
        marks = [(queue, queue.mark) for queue in self.queues]
        wait("aclrtSynchronizeDevice")
        for queue, mark in marks:
            queue.done = mark


def _streams_of(device: int) -> _Streams:
    streams = ensure_session().streams
    return streams.setdefault(device, _Streams()) if device not in streams else streams[device]


class Stream(Leaving):
    """A stream of a device, by default the thread's (source: ``torch.npu.Stream``).

    ``pointer`` is its ``aclrtStream``. ``with stream:`` makes it the thread's current one. All streams have the priority 0,
    the only one that ACL's documents name. Raises ``BackendError`` for any other.
    """

    __slots__ = ("__weakref__", "_before", "_queue", "_session", "_streams", "allocator", "device", "pointer")

    def __init__(self, device: int | str | Device | None = None, priority: int = 0) -> None:
        if priority:
            raise BackendError(
                f"a stream of priority {priority} was asked for, and streams of an npu have no priorities",
                hint="leave it out, or let it be 0",
            )
        with guard(parse_index(device)) as number:
            self.device = number
            self._session: AclSession = ensure_session()
            #: The device's allocator; set at the first allocation for this stream.
            self.allocator: Any = None
            self._streams = _streams_of(number)
            self._before: list[tuple[int, Stream | None]] = []
            try:
                self._queue = self._streams.idle.pop()
            except IndexError:
                self._queue = _create(self._streams)
            self.pointer = self._queue.pointer

    def __del__(self) -> None:
        if hasattr(self, "pointer"):
            self._streams.idle.append(self._queue)

    @property
    def is_busy(self) -> bool:
        """Whether the stream may have work that no thread has waited for; see Note [Idle streams]."""
        return self._queue.mark is not self._queue.done

    @is_busy.setter
    def is_busy(self, is_busy: bool) -> None:
        if is_busy:
            self._queue.mark = object()
        else:
            self._queue.done = self._queue.mark

    def check(self) -> None:
        """Raise ``BackendError`` where the runtime that the stream belongs to was closed, or the device did not answer."""
        if not self._streams.is_open:
            check_answers(self.device)
            raise BackendError(f"{self!r} belongs to a runtime that was closed", hint="make a new stream")

    def synchronize(self) -> None:
        """Wait until all work queued on this stream is done."""
        self.check()
        mark = self._queue.mark
        with guard(self.device):
            wait("aclrtSynchronizeStream", self.pointer)
        self._queue.done = mark

    def query(self) -> bool:
        """Return whether all work queued on this stream is done."""
        self.check()
        status = ctypes.c_int()
        with guard(self.device):
            call("aclrtStreamQuery", self.pointer, ctypes.byref(status))
        return status.value == ACL_STREAM_STATUS_COMPLETE

    def wait_event(self, event: Event) -> None:
        """Make work that is queued here from now on wait for an event."""
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """Make work that is queued here from now on wait for the work that is queued on another stream now."""
        self.wait_event(stream.record_event())

    def record_event(self, event: Event | None = None) -> Event:
        """Record an event, by default a new one, after the work that is queued here now, and return it."""
        if event is None:
            from .event import Event as NewEvent  # events stand above streams

            event = NewEvent()
        event.record(self)
        return event

    def __enter__(self) -> Self:
        self.check()
        device, before = thread.device, thread.chosen.get(self.device)
        self._before += [(device, before)]
        try:
            ensure(self.device)
            set_current(self)
            return self
        except BaseException:
            self._leave()
            raise

    def _leave(self) -> None:
        """Restore the current device and stream; called again after an interrupt, it does the rest."""
        if not self._before:
            return
        device, before = self._before[-1]
        if before is None:
            thread.chosen.pop(self.device, None)
        else:
            thread.chosen[self.device] = before
        thread.stream = None
        leave_for(device)
        del self._before[-1]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Stream):
            return NotImplemented
        return self._session is other._session and self.pointer == other.pointer

    def __hash__(self) -> int:
        return hash(self.pointer)

    def __repr__(self) -> str:
        return f"<torchlike.npu.Stream device=npu:{self.device} npu_stream={self.pointer:#x}>"


class ForeignStream(Stream):
    """A stream that another library has made and keeps, by its ``aclrtStream``."""

    __slots__ = ()

    def __init__(self, pointer: int, device: int | str | Device | None = None) -> None:
        with guard(parse_index(device)) as number:
            self.device = number
            self._session = ensure_session()
            self.allocator = None
            self._streams = _streams_of(number)
            self._before = []
            self._queue, self.pointer = _Queue(pointer), pointer

    def __del__(self) -> None:
        """Keep the handle out of those that new streams get."""


_FLAGS: Final = ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC


def _create(streams: _Streams) -> _Queue:
    handle = ctypes.c_void_p()
    call("aclrtCreateStreamWithConfig", ctypes.byref(handle), 0, _FLAGS)
    streams.queues.append(_Queue(handle.value or 0))
    return streams.queues[-1]


def default(device: int | None = None) -> Stream:
    """Return the default stream of a device."""
    with guard(device) as number:
        streams = _streams_of(number)
        if streams.default is None:
            # A cycle of references that lives until the runtime is closed.
            streams.default = Stream(number)
        return streams.default


def peek() -> Stream:
    """Return the thread's current stream, for a caller that queues no work on it."""
    found: Stream | None = thread.stream
    return found if found is not None and found._streams.is_open else _find()


def _find() -> Stream:
    device = ensure()
    found: Stream | None = thread.chosen.get(device)
    if found is None or not found._streams.is_open:
        found = default()
    thread.stream = found
    return found


def current() -> Stream:
    """Return the thread's current stream and mark it busy, for a caller that queues work on it."""
    found = peek()
    found._queue.mark = object()
    return found


def check_stream(stream: object) -> Stream:
    """Return ``stream`` if it is a stream of the open runtime.

    Raises ``TypeError`` for another object, ``BackendError`` for a stream of a runtime that was closed.
    """
    if not isinstance(stream, Stream):
        raise TypeError(f"expected a stream of an npu (got {type(stream).__name__})")
    stream.check()
    return stream


def set_current(stream: Stream) -> None:
    """Make a stream the thread's current one on the stream's device."""
    check_stream(stream)
    thread.chosen[stream.device] = stream
    thread.stream = None


def _close(device: int) -> None:
    streams: Any = ensure_session().streams.pop(device, None)
    if streams is not None:
        streams.is_open = False
        call_each("aclrtDestroyStream", [queue.pointer for queue in streams.queues])


def _quarantine(ensure_session: AclSession, device: int) -> None:
    if device in ensure_session.streams:
        ensure_session.streams[device].is_open = False


at_finalize(Stage.STREAMS, _close)
at_timeout(_quarantine)
