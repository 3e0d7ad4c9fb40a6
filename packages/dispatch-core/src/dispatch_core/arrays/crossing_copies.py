"""The order of streams around a copy from one device of a type to another.

The copy runs on the current stream of its target, after the work that is queued on the source's current stream, whose later
work waits for it, as it may write to what is copied (source: ``at::native::copy_device_to_device``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .thread_device import OnDevice

if TYPE_CHECKING:
    from ..runtime.interface import DeviceInterface


def run_between(interface: DeviceInterface, source: int, target: int, run: Callable[[], Any]) -> Any:
    """Return the result of a copy from one index to another, in the order of the current streams of both.

    >>> from dispatch_core import DeviceInterface
    >>> run_between(DeviceInterface(), 0, 1, lambda: "copied")
    'copied'
    """
    streams = interface.streams
    if streams is None or interface.events is None:
        return run()
    there, here = streams.current(source), streams.current(target)
    _wait(interface, source, there, here)
    result = run()
    _wait(interface, target, here, there)
    return result


def _wait(interface: DeviceInterface, index: int, before: Any, after: Any) -> None:
    """Make later work of a stream wait for the work that is queued on another one of an index."""
    events: Any = interface.events
    with OnDevice(interface, index):
        event = events.create(index)
        events.record(event, before)
    events.wait(event, after)
