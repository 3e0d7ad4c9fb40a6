"""Steps on the streams that were current at their calls.

Note [Streams of recorded calls]
    A pipeline records the changes of a device's current stream, and its events, among the calls, as steps of the operators
    of ``streams``. Where there are such steps all that is observable runs, in its order: a call that is needed alone would
    run on another stream than its own. Each flush begins with the stream that was current before the first change, and ends
    with the one that is current now. Between steps on two streams, of which one reads what the other makes, the flush
    puts an event; what was made before the flush is ordered by the program, as in eager calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from dispatch_core.arrays.caller_streams import CALLER, exchange_stream, read_stream
from dispatch_core.arrays.owners import KEY_DEVICES
from dispatch_core.discovery import loader
from dispatch_core.interrupts import Leaving

if TYPE_CHECKING:
    from dispatch_core.devices import Device

    from ..record.steps import Step

_ENTER = "streams::enter"


class StreamChanges(Leaving):
    """The streams of a flush: those at its beginning, those that are current now, and which step ran on which."""

    def __init__(self, steps: Sequence[Step]) -> None:
        #: The device of each change, the stream before the first one, and the one that is current now.
        self._first: dict[Device, Any] = {}
        for step in steps:
            if step.name == _ENTER:
                device, _, before = step.values
                self._first.setdefault(device, before)
        self._now: dict[Device, Any] = {}
        #: id of a pending value → the stream that the step which made it ran on.
        self._made: dict[int, tuple[Device, Any]] = {}

    def __enter__(self) -> Self:
        for device, before in self._first.items():
            self._now[device] = read_stream(device)
            if before is not CALLER:
                exchange_stream(device, before)
        return self

    def _leave(self) -> None:
        for device, stream in self._now.items():
            exchange_stream(device, stream)

    def begin(self, steps: Sequence[Step]) -> None:
        """Make the current stream wait for what others make for steps that run next; note what these make."""
        waited: set[int] = set()
        for step in steps:
            if step.orders_streams:
                continue
            current = self._find_current(step)
            if current is None:
                return
            for value in step.inputs():
                made = self._made.get(id(value))
                if made is not None and made[1] != current[1] and id(made[1]) not in waited:
                    waited.add(id(made[1]))
                    self._order(*made, current[1])
            for output in step.outputs:
                if output is not None:
                    self._made[id(output)] = current

    def _find_current(self, step: Step) -> tuple[Device, Any] | None:
        place = KEY_DEVICES[step.device.backend], step.index or 0
        device = next((each for each in self._first if (each.type, each.index or 0) == place), None)
        return None if device is None else (device, read_stream(device))

    @staticmethod
    def _order(device: Device, before: Any, after: Any) -> None:
        events = loader().device_interface(device.type).events
        event = events.create(device.index or 0)
        events.record(event, before)
        events.wait(event, after)
