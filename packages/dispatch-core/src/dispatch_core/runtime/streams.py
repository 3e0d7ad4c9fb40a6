"""Streams and events of any device whose backend has them (source: ``torch.Stream``, ``torch.Event``)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, Final, Self, TypeVar, cast
from weakref import WeakValueDictionary, ref

from .._record import Record
from ..arrays.frontend import STREAM_BLOCKS, STREAMS_CHOSEN
from ..devices import Device
from ..errors import ArgumentError, BackendError
from ..interrupts import whole
from ..pipelines import open_recording
from ..tracebacks import api_boundary
from .guards import OnDevice, find_interface, resolve
from .host_streams import AT_ONCE, HOST, find_place, name_of
from .interface import DeviceInterface
from .stream_operators import defer, note_named, own_streams, run_recorded
from .synchronization import raise_reported

__all__ = ["Event", "Stream", "current_stream", "default_stream", "has_streams", "set_stream"]

_NONE: Final = object()


class _ThreadBlocks(threading.local):
    """The blocks of frontends that ``set_stream`` has entered in a thread, by device; and the open blocks of streams."""

    def __init__(self) -> None:
        self.guards: dict[Device, list[AbstractContextManager[object]]] = {}
        self.blocks: list[_StreamBlock] = []


class _StreamBlock(Record):
    """An open block of a stream: the guards that it has entered, and the stream that was current before."""

    stream: Stream
    guards: list[AbstractContextManager[object]]
    before: Any


_thread: Final = _ThreadBlocks()
#: The streams that were made here, by their device and number.
_made: Final[WeakValueDictionary[tuple[Device, int], Stream]] = WeakValueDictionary()


def number_of(handle: Any) -> int:
    """Return the number of a backend's stream.

    >>> number_of(3)
    3
    """
    return int(handle) if isinstance(handle, int) else id(handle)


class Stream:
    """A queue of work on a device, which does its work in order; by default a new one on the accelerator, or the cpu's.

    ``with stream:`` makes it the thread's current one, and its device the thread's. Streams with the same ``native_handle``,
    which is the backend's own object, are equal. With ``stream_id``, ``device_index`` and ``device_type``, a name or torch's
    number for it, it is a living stream of that number. The cpu and meta have one stream, whose work is always done. Raises
    ``BackendError`` for a device whose backend has no streams, or no stream of the number.

    >>> import dispatch_core as dc
    >>> with dc.register_backend(dc.BackendInfo("plain"), {}):
    ...     Stream("plain")
    Traceback (most recent call last):
    dispatch_core.errors.BackendError: Backend plain doesn't support streams
    Hint: the DeviceInterface of its plugin has no part 'streams'
    """

    __slots__ = ("__weakref__", "_asked_in", "device", "native_handle")

    @api_boundary
    def __init__(
        self,
        device: str | Device | int | None = None,
        *,
        priority: int = 0,
        stream_id: int | None = None,
        device_index: int | None = None,
        device_type: str | int | None = None,
    ) -> None:
        if (stream_id, device_index, device_type) != (None, None, None):
            if device is not None or stream_id is None or device_index is None or device_type is None:
                raise ArgumentError(
                    "Stream() takes a device, or stream_id, device_index and device_type together",
                    hint="these are the attributes of a stream that is still referred to",
                )
            place = find_place(Device(name_of(device_type), None if device_index < 0 else device_index))
            self._set(place, _find_handle(place, stream_id))
            return
        if not isinstance(priority, int):
            raise ArgumentError(f"Stream(): argument 'priority' must be int, not {type(priority).__name__}")
        found = find_place(device)
        interface, index = _with_streams(found)
        with OnDevice(interface, index):
            handle = interface.streams.create(index, priority)
        self._set(found, handle)
        _made[found, self.stream_id] = self

    def _set(self, device: Device, handle: Any) -> None:
        self.device = device
        #: The backend's stream.
        self.native_handle = handle
        #: The recording of a captured function that has asked for the current stream and got this.
        self._asked_in: ref[Any] | None = None

    @property
    def device_index(self) -> int:
        """Return the index of the stream's device, -1 where it has none."""
        return -1 if self.device.index is None else self.device.index

    @property
    def device_type(self) -> str:
        """Return the type of the stream's device."""
        return self.device.type

    @property
    def stream_id(self) -> int:
        """Return a number that tells living streams of a device apart."""
        return number_of(self.native_handle)

    def is_capturing(self) -> bool:
        """Return whether calls are recorded here for a captured function, instead of being queued."""
        return open_recording() is not None

    @api_boundary
    def query(self) -> bool:
        """Return whether all work that was queued here is done; recorded calls are queued first."""
        run_recorded("Stream.query")
        return bool(_with_streams(self.device)[0].streams.query(self.native_handle))

    @api_boundary
    def synchronize(self) -> None:
        """Wait until all work that was queued here is done; recorded calls are queued first."""
        run_recorded("Stream.synchronize")
        _with_streams(self.device)[0].streams.synchronize(self.native_handle)
        raise_reported(self.device_type, self.native_handle)

    @api_boundary
    def wait_event(self, event: Event) -> None:
        """Make work that is queued here from now on wait for an event."""
        event.wait(self)

    @api_boundary
    def wait_stream(self, stream: Stream) -> None:
        """Make work that is queued here from now on wait for the work that is queued on another stream now."""
        stream.record_event().wait(self)

    @api_boundary
    def record_event(self, event: Event | None = None) -> Event:
        """Record an event, by default a new one, after the work that is queued here now, and return it."""
        if event is None:
            event = Event(self.device)
        event.record(self)
        return event

    def __enter__(self) -> Self:
        interface, index = _with_streams(self.device)
        STREAMS_CHOSEN[:] = [True]
        guards: list[AbstractContextManager[object]] = []
        before: Any = _NONE
        blocks = _thread.blocks
        count = len(blocks)
        self._note_use()
        try:
            for guard in (OnDevice(interface, index), *own_streams(), *[make() for make in STREAM_BLOCKS]):
                guards.append(guard)
                guard.__enter__()
            # Asked for first: an interrupt may fall inside of a vendor's function.
            before = interface.streams.current(index)
            interface.streams.exchange(index, self.native_handle)
            blocks.append(_StreamBlock(self, guards, before))
            defer("enter", self.device, self.native_handle, before)
            return self
        except BaseException:
            if before is not _NONE:
                with suppress(Exception):  # it may be what has failed
                    interface.streams.exchange(index, before)
                del blocks[count:]
            _leave_all(guards)
            raise

    @whole
    def __exit__(self, *exception: object, block: _StreamBlock | None = None) -> None:  # set before the first line
        try:
            block = self._find_block()
            self._leave(block)
        except BaseException:
            # An interrupt; see Note [Where an interrupt falls] in `dispatch_core.interrupts`.
            block = block or self._find_block()
            try:
                self._leave(block)
            finally:
                # The backend's function may fail again.
                if block is not None:
                    _remove(block)
                    _leave_all(block.guards)
            raise

    def _note_use(self) -> None:
        """Tell the recording of a captured function that this stream is used; see Note [The caller's streams]."""
        note_named(self.device, self.native_handle, self._asked_in and self._asked_in())

    def _find_block(self) -> _StreamBlock | None:
        """Return the thread's innermost block of this stream."""
        return next((each for each in reversed(_thread.blocks) if each.stream is self), None)

    def _leave(self, block: _StreamBlock | None) -> None:
        """Restore the current device and stream; called again after an interrupt, it does the rest."""
        if block is not None and any(each is block for each in _thread.blocks):
            interface, index = _with_streams(self.device)
            interface.streams.exchange(index, block.before)
            # Before its guards: another thread's block may begin then, and its changes are recorded.
            defer("enter", self.device, block.before, self.native_handle)
            _leave_all(block.guards)
            _remove(block)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Stream):
            return NotImplemented
        return self.device == other.device and bool(self.native_handle == other.native_handle)

    def __hash__(self) -> int:
        return hash((self.device, self.native_handle))

    def __repr__(self) -> str:
        return (
            f"torch.Stream device_type={self.device_type}, device_index={self.device_index}, stream_id={self.stream_id}"
        )


class Event:
    """A mark in a stream; with ``enable_timing`` the time between two can be measured.

    It belongs to the device of the stream in which it is first recorded; one that was never recorded is done. On the cpu and
    meta none can be recorded. Raises ``BackendError`` for a device whose backend has no events, or none with time.
    """

    __slots__ = ("__weakref__", "_handle", "_index", "_stream", "device_type", "enable_timing")

    @api_boundary
    def __init__(
        self,
        device: str | Device | int | None = None,
        *,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
    ) -> None:
        if interprocess:
            raise BackendError("events that other processes wait for are not supported", hint="leave interprocess out")
        found = find_place(device)
        if found.type not in AT_ONCE:
            parts = "events", *(("timed_event",) if enable_timing else ())
            find_interface(found.type).require(found.type, *parts)
        self.device_type = found.type
        self.enable_timing = enable_timing
        #: The index of the device, None until it is recorded.
        self._index: int | None = None
        #: The backend's event, None until it is recorded.
        self._handle: Any = None
        #: The stream in which it was recorded last.
        self._stream: Any = None

    @property
    def device(self) -> Device:
        """Return the event's device, which has no index until the event is recorded."""
        return Device(self.device_type, self._index)

    @property
    def event_id(self) -> int:
        """Return a number that tells living events apart; 0 for one that was never recorded."""
        return 0 if self._handle is None else id(self._handle)

    @api_boundary
    def record(self, stream: Stream | None = None) -> None:
        """Mark the end of the work that is queued on a stream now, by default the current one of the event's device."""
        stream = current_stream(self.device_type) if stream is None else _check_stream(stream, self.device_type)
        interface, index = _with_streams(stream.device)
        if interface.events is None:
            raise BackendError(
                f"{self.device_type} backend doesn't support events.", hint="its work is done when a call returns"
            )
        if self._handle is None:
            make: Any = interface.timed_event if self.enable_timing else interface.events.create
            with OnDevice(interface, index):
                self._handle, self._index = make(index), index
        elif index != self._index:
            raise BackendError(
                f"Event device {self.device} does not match recording stream's device {stream.device}",
                hint="make an event for each device",
            )
        self._stream = stream.native_handle
        stream._note_use()
        if not defer("record", stream.device, self._handle, stream.native_handle):
            interface.events.record(self._handle, stream.native_handle)

    @api_boundary
    def wait(self, stream: Stream | None = None) -> None:
        """Make work that is queued on a stream from now on wait for this event; by default on the current stream."""
        if self._handle is not None:
            stream = current_stream(self.device_type) if stream is None else _check_stream(stream, self.device_type)
            stream._note_use()
            if not defer("wait", stream.device, self._handle, stream.native_handle):
                find_interface(self.device_type).events.wait(self._handle, stream.native_handle)

    @api_boundary
    def query(self) -> bool:
        """Return whether all work before the mark is done; recorded calls are queued first."""
        run_recorded("Event.query")
        return self._handle is None or bool(find_interface(self.device_type).events.query(self._handle))

    @api_boundary
    def synchronize(self) -> None:
        """Wait until all work before the mark is done; recorded calls are queued first."""
        run_recorded("Event.synchronize")
        if self._handle is not None:
            find_interface(self.device_type).events.synchronize(self._handle)
            raise_reported(self.device_type, self._stream, partly=True)

    @api_boundary
    def elapsed_time(self, end_event: Event) -> float:
        """Return the milliseconds from this mark to another.

        Raises ``ValueError`` unless both were made with ``enable_timing`` and recorded, ``BackendError`` unless both are
        done.
        """
        run_recorded("Event.elapsed_time")
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._handle is None or end_event._handle is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        if not (self.query() and end_event.query()):
            raise BackendError("Both events must be completed before calculating elapsed time.")
        return float(find_interface(self.device_type).events.elapsed_time(self._handle, end_event._handle))

    def __repr__(self) -> str:
        flag = int(self.enable_timing)
        place = f"device_type={self.device_type}, device_index={-1 if self._index is None else self._index}"
        return f"torch.Event {place}, event_flag={flag}, event_id={self.event_id}"


def _remove(block: _StreamBlock) -> None:
    """Remove an open block from the thread's; other blocks of its stream stay."""
    _thread.blocks[:] = [each for each in _thread.blocks if each is not block]


def _leave_all(guards: list[AbstractContextManager[object]]) -> None:
    """Leave guards, the innermost first; called again after an interrupt, it does the rest."""
    while guards:
        guards[-1].__exit__(None, None, None)
        del guards[-1]


def has_streams(device: str) -> bool:
    """Return whether a device's backend has streams and events, so that work on two of them must be ordered.

    >>> import dispatch_core as dc
    >>> with dc.register_backend(dc.BackendInfo("plain"), {}):
    ...     has_streams("plain")
    False
    """
    interface = find_interface(device)
    return interface.streams is not None and interface.events is not None


_S = TypeVar("_S", bound=Stream)


def current_stream(device: str | Device | int | None = None, kind: type[_S] | None = None) -> _S:
    """Return the stream that the thread works with on a device, by default the accelerator, as a ``Stream`` or a subclass.

    Raises ``BackendError`` for a device whose backend has no streams.
    """
    found = _resolve(device)
    interface, index = _with_streams(found)
    stream = _wrap(found, interface.streams.current(index), kind)
    recording = open_recording()
    if recording is not None:
        stream._asked_in = ref(recording)
    return stream


def default_stream(device: str | Device | int | None = None, kind: type[_S] | None = None) -> _S:
    """Return the stream of a device that threads work with until they choose another, as a ``Stream`` or a subclass.

    Raises ``BackendError`` for a device whose backend has no streams.
    """
    found = _resolve(device)
    interface, index = _with_streams(found)
    return _wrap(found, interface.streams.default(index), kind)


def _resolve(device: str | Device | int | None) -> Device:
    found = resolve(device)
    return Device(found.type) if found.type in AT_ONCE else found


def set_stream(stream: Stream) -> None:
    """Make a stream the one that the thread works with on its device, and that device the thread's."""
    interface, index = _with_streams(stream.device)
    STREAMS_CHOSEN[:] = [True]
    stream._note_use()
    with _restoring(interface, index):
        before = interface.streams.exchange(index, stream.native_handle)
    guards = _thread.guards.pop(stream.device, [])
    if guards:  # before these are left, as where a block is left
        defer("enter", stream.device, stream.native_handle, before)
        _leave_all(guards)
    if stream.native_handle != interface.streams.default(index):
        guards = _thread.guards[stream.device] = [*own_streams(), *[make() for make in STREAM_BLOCKS]]
        for guard in guards:
            guard.__enter__()
    defer("enter", stream.device, stream.native_handle, before)


@contextmanager
def _restoring(interface: DeviceInterface, index: int) -> Iterator[None]:
    """Make a device the thread's, and the former again where the block fails."""
    if interface.exchange is None:
        yield
        return
    before = interface.exchange(index)
    try:
        yield
    except BaseException:
        interface.exchange(before)
        raise


def _wrap(device: Device, handle: Any, kind: type[_S] | None) -> _S:
    # A frontend's subclasses make streams of one device.
    stream = cast("_S", (kind or Stream).__new__(kind or Stream))
    stream._set(device, handle)
    return stream


def _with_streams(device: Device) -> tuple[DeviceInterface, int]:
    interface = HOST if device.type in AT_ONCE else find_interface(device.type)
    if interface.streams is None:
        interface.require(device.type, "streams")
    return interface, device.index or 0


def _find_handle(device: Device, number: int) -> Any:
    """Return the backend's object of a stream that was made here and lives, of the default or of the current one."""
    interface, index = _with_streams(device)
    living = _made.get((device, number))
    handles = [interface.streams.default(index), interface.streams.current(index)]
    for handle in [*handles, *(() if living is None else (living.native_handle,))]:
        if number_of(handle) == number:
            return handle
    raise BackendError(
        f"{device} has no stream of the number {number}", hint="stream_id is that of a stream that is still referred to"
    )


def _check_stream(stream: object, device: str) -> Stream:
    if not isinstance(stream, Stream):
        raise ArgumentError(f"expected a Stream, not {type(stream).__name__}")
    if stream.device_type != device:
        raise BackendError(f"Event device type {device} does not match stream's device type {stream.device_type}.")
    return stream
