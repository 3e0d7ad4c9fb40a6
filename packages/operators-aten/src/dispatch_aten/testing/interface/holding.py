"""Commands that are held back, so that work which has to wait for them can be seen to wait."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

import dispatch_core as dc

from ..agreement import TestedDevice

#: How long commands are held back, and how long they wait at most, in seconds.
SHORT: Final = 0.3
_HELD: Final = 5.0
#: Rounds of work and sizes of arrays: a few commands that are held back, and for a device whose commands cannot be,
#: some that each take longer than a call.
LATE: Final = ((3, 65), (30, 1_000_001))


class Held:
    """The commands of a block: how many there are, and the gate behind which they wait."""

    def __init__(self) -> None:
        self.gate, self.count, self._began = threading.Event(), 0, time.monotonic()

    @property
    def is_on(self) -> bool:
        """Return whether there are commands that have not begun, and there is time left to ask for them."""
        return self.count > 0 and not self.gate.is_set() and time.monotonic() - self._began < SHORT


@contextmanager
def hold_commands(device: TestedDevice, interface: dc.DeviceInterface) -> Iterator[Held]:
    """Hold back the commands that are queued within a block for a short time, beyond its end.

    A device without a queue, or whose queue waits for its commands, has nothing to hold back: `Held.is_on` is false.
    """
    held, submit = Held(), interface.queue
    if submit is None:
        held.gate.set()
        yield held
        return
    opener = threading.Timer(SHORT, held.gate.set)
    opener.daemon = True

    def hold(function: Any, *arguments: Any) -> Any:
        held.count += 1

        def run(*given: Any) -> Any:
            held.gate.wait(_HELD)
            return function(*given)

        return submit(run, *arguments)

    interface.queue = hold
    opener.start()
    try:
        yield held
    except BaseException:
        held.gate.set()
        raise
    finally:
        interface.queue = submit


def open_gate(device: TestedDevice, held: Held) -> None:
    """Wait until commands that were held back run, and then for the device, whose errors are not asked for."""
    held.gate.wait(_HELD)
    with suppress(dc.AsyncDeviceError):
        dc.synchronize(device.name)
