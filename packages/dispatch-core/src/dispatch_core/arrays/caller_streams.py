"""The streams of captured functions: those of the caller, at each replay, beside those that the function names.

Note [The caller's streams]
    A captured function runs on the stream of its caller, which may be another one at each replay. So where its recording
    enters, leaves or orders the stream that was current at the call, the recorded call has `CALLER` instead. The first
    change of a device's stream keeps the caller's in the thread, and the last one gives it back; a replay that fails gives
    back all. Whether a stream that the function names is the caller's is a guard of the recording; one that it has asked
    for, as the current one, is that of each replay. Events that it records are told apart by their places, because it
    makes new ones at each call: replays record those of the first again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from ..devices import Device
from ..discovery import loader
from . import access
from .thread_device import work_on


class _Caller:
    """Represents the stream that is current at the call of a captured function."""

    def __repr__(self) -> str:
        return "the caller's stream"


CALLER: Final = _Caller()


class _ThreadCallers(threading.local):
    """The streams of the caller of the captured function that a thread runs, by device."""

    def __init__(self) -> None:
        self.callers: dict[Device, Any] = {}


_thread: Final = _ThreadCallers()


class RecordedEvent:
    """An event of a captured function, equal to that of the same place in another call's recording.

    One that the function waits for before it records it is the caller's, and equal to itself alone.
    """

    __slots__ = ("handle", "is_own", "number")

    def __init__(self, number: int, handle: Any, *, is_own: bool) -> None:
        self.number, self.handle, self.is_own = number, handle, is_own

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RecordedEvent) or (self.number, self.is_own) != (other.number, other.is_own):
            return False
        return self.is_own or self.handle is other.handle

    def __hash__(self) -> int:
        return hash(self.number)

    def __repr__(self) -> str:
        return f"event {self.number}"


class CapturedStreams:
    """The streams and events of one recorded call."""

    def __init__(self) -> None:
        self._callers: dict[Device, Any] = {}
        self._events: dict[int, RecordedEvent] = {}

    def translate(
        self, device: Device, values: tuple[Any, ...], operator: str, guard: Callable[..., None]
    ) -> tuple[Any, ...]:
        """Return the arguments of an operator of ``streams`` as replays take them; ``guard`` adds a guard."""
        self._callers.setdefault(device, values[2] if operator.endswith("enter") else read_stream(device))
        if operator.endswith("enter"):
            return device, *[self._translate_stream(device, each, guard) for each in values[1:]]
        made = RecordedEvent(len(self._events), values[1], is_own=operator.endswith("record"))
        event = self._events.setdefault(id(values[1]), made)
        return device, event, self._translate_stream(device, values[2], guard)

    def name(self, device: Device, stream: Any, guard: Callable[..., None]) -> None:
        """Take note that the function names a stream, before this becomes current; ``guard`` adds a guard."""
        if stream == self._callers.setdefault(device, read_stream(device)):
            guard(partial(_is_current, device, stream), True)

    def _translate_stream(self, device: Device, stream: Any, guard: Callable[..., None]) -> Any:
        if stream == self._callers[device]:
            return CALLER
        guard(partial(_is_current, device, stream), False)
        return stream


def read_stream(device: Device) -> Any:
    """Return the backend's stream that is current on a device."""
    return loader().device_interface(device.type).streams.current(device.index or 0)


def exchange_stream(device: Device, stream: Any) -> Any:
    """Make a backend's stream current on a device, and return the former."""
    return loader().device_interface(device.type).streams.exchange(device.index or 0, stream)


def _is_current(device: Device, stream: Any) -> bool:
    return bool(read_stream(device) == stream)


def enter_stream(device: Device, stream: Any, before: Any) -> None:
    """Make a stream current; see Note [The caller's streams]."""
    if before is CALLER:
        _thread.callers[device] = read_stream(device)
    entered = find_stream(device, stream)
    exchange_stream(device, entered)
    if stream is CALLER:
        _thread.callers.pop(device, None)


def find_stream(device: Device, stream: Any) -> Any:
    """Return a stream, for `CALLER` that of the caller."""
    if stream is not CALLER:
        return stream
    return _thread.callers[device] if device in _thread.callers else read_stream(device)


def restore_callers() -> None:
    """Make the caller's streams current again, after a replay that has failed."""
    for device, stream in list(_thread.callers.items()):
        exchange_stream(device, stream)
        _thread.callers.pop(device, None)


def forget_callers() -> None:
    """Forget the caller's streams, where a recording has run: an error may have kept it from the last change."""
    _thread.callers.clear()


def device_of(value: object) -> Device:
    """Return the device that an array lies on, with an index, by which streams go."""
    place = access.device(value)
    return Device(place.type, place.index or 0)


def order_streams(device: Device, before: Any, after: Any) -> None:
    """Make later work of one stream wait for the work that is queued on another one, which is of the device."""
    events = loader().device_interface(device.type).events
    with work_on(device.type, device.index or 0):
        event = events.create(device.index or 0)
        events.record(event, before)
    events.wait(event, after)


def note_use(device: Device, array: Any, stream: Any = None) -> None:
    """Tell a device that a stream, by default its current one, uses an array that another one has made: its memory stays."""
    record = getattr(loader().device_interface(device.type).streams, "record", None)
    if record is not None and array is not None:
        record(array, read_stream(device) if stream is None else stream)
