"""The order of streams around a copy from one device of a type to another.

The copy runs on the current stream of its target, after the work that is queued on the source's current stream, whose later
work waits for it, as it may write to what is copied (source: ``at::native::copy_device_to_device``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..devices import Device
from ..discovery import loader
from .caller_streams import order_streams, read_stream


def run_between(name: str, source: int, target: int, run: Callable[[], Any]) -> Any:
    """Return the result of a copy from one index to another, in the order of the current streams of both.

    >>> import dispatch_core as dc
    >>> with dc.register_backend(dc.BackendInfo("plain"), {}):
    ...     run_between("plain", 0, 1, lambda: "copied")
    'copied'
    """
    interface = loader().device_interface(name)
    if interface.streams is None or interface.events is None:
        return run()
    places = Device(name, source), Device(name, target)
    there, here = map(read_stream, places)
    order_streams(places[0], there, here)
    result = run()
    order_streams(places[1], here, there)
    return result
