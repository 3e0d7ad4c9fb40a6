"""The times that a device takes for calls, by pairs of its timed events around them, for a profile that asks for them.

An event costs a device something, and a call on several streams more than one could show. So a pair stands around each
call and each stage of a pipeline that runs kernels, on the stream that is current there, and nowhere while no profile asks.
"""

from __future__ import annotations

from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Final

from ..arrays.owners import DEVICE_KEYS, KEY_DEVICES
from ..arrays.thread_device import work_on
from ..devices import Device
from ..discovery import loader
from ..keys.keyset import DispatchKeySet

if TYPE_CHECKING:
    from .profile_events import CallEvent

_NS_OF_MS: Final = 1_000_000


class _Clock:
    """A device of one index: its events, the time that the first was recorded at, and the numbers of its streams."""

    def __init__(self, device: str, interface: Any, index: int) -> None:
        self.device, self.name = device, f"{device}:{index}"
        self.interface, self.index = interface, index
        self.lanes: dict[Any, int] = {}
        self.base, _ = self.record()
        self.began = perf_counter_ns()

    def record(self) -> tuple[Any, str]:
        """Record an event on the current stream; return it, and the stream's name in pictures."""
        stream = self.interface.streams.current(self.index)
        with work_on(self.device, self.index):
            event = self.interface.timed_event(self.index)
            self.interface.events.record(event, stream)
        is_default = stream == self.interface.streams.default(self.index)
        lane = 0 if is_default else self.lanes.setdefault(stream, len(self.lanes) + 1)
        return event, f"{self.name} stream {lane}"


class DeviceTimes:
    """The pairs of a profile, of which the events get their times at its end."""

    def __init__(self) -> None:
        #: A device's name → its interface, None where it has no timed events; and its clocks by name and index.
        self._interfaces: dict[str, Any] = {}
        self._clocks: dict[tuple[str, int], _Clock] = {}
        self._pairs: list[tuple[CallEvent, _Clock, Any, Any]] = []
        #: Each event with the one around it, in the order in which they end.
        self._nested: list[tuple[CallEvent, CallEvent | None]] = []

    def begin(self, event: CallEvent, place: Device | None = None) -> tuple[_Clock, Any] | None:
        """Record the beginning of an event, if it is on a device with timed events; a factory names its ``place``."""
        keys = event.keys
        if not any(key.owns_arrays for key in keys):
            keys = next((call.keys for call in event.recorded), DispatchKeySet())
        names = [KEY_DEVICES.get(key.backend) for key in keys if key.owns_arrays]
        for name in names if place is None else [place.type]:
            interface = self._find_interface(name) if name in DEVICE_KEYS else None
            if name is not None and interface is not None:
                index = None if place is None else place.index
                if index is None:
                    index = 0 if interface.current is None else interface.current()
                clock = self._clocks.get((name, index))
                if clock is None:
                    clock = self._clocks[name, index] = _Clock(name, interface, index)
                start, event.stream = clock.record()
                return clock, start
        return None

    def end(self, event: CallEvent, parent: CallEvent | None, begun: tuple[_Clock, Any] | None) -> None:
        """Record the end of an event."""
        self._nested.append((event, parent))
        if begun is not None:
            clock, start = begun
            self._pairs.append((event, clock, start, clock.record()[0]))

    def finish(self) -> None:
        """Wait for the devices, and give each event its time on them; one without a pair has those inside it."""
        pairs, self._pairs = self._pairs, []
        for event, clock, start, end in pairs:
            events = clock.interface.events
            events.synchronize(end)
            event.device_start = clock.began + round(events.elapsed_time(clock.base, start) * _NS_OF_MS)
            event.device_duration = round(events.elapsed_time(start, end) * _NS_OF_MS)
        nested, self._nested = self._nested, []
        for event, parent in nested:
            if not event.stream:
                event.device_duration = event.device_children
            if parent is not None:
                parent.device_children += event.device_duration

    def _find_interface(self, name: str) -> Any:
        if name not in self._interfaces:
            found = loader().device_interface(name)
            parts = found.streams, found.events, found.timed_event
            can_time = None not in parts and getattr(found.events, "elapsed_time", None) is not None
            self._interfaces[name] = found if can_time else None
        return self._interfaces[name]
