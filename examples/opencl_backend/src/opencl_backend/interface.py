"""What the device offers besides operators: indices, streams, events, memory and errors of kernels."""

from __future__ import annotations

from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.dtypes import BY_NAME

from . import driver, errors, events, memory, moves, streams
from .ctypes import COMPUTED


def _properties(index: int) -> dict[str, Any]:
    device = driver.find_devices()[index]
    return {
        "name": device.name,
        "total_memory": memory.total_memory(index),
        "multi_processor_count": device.max_compute_units,
        "vendor": device.vendor,
        "version": device.version,
    }


def synchronize(index: int) -> None:
    """Wait until everything on a device is done."""
    for stream in list(streams.Stream.living):
        if stream.index == index:
            streams.synchronize(stream)


INTERFACE: Final = dc.DeviceInterface(
    properties=_properties,
    current=driver.current_device,
    exchange=driver.exchange_device,
    initialized=driver.is_open,
    synchronize=synchronize,
    streams=streams,
    events=events,
    timed_event=events.create,
    memory=memory,
    empty_cache=memory.empty_cache,
    out_of_memory=memory.OutOfMemoryError,
    host_allocator=memory.allocate_on_host,
    upload=moves.upload,
    launched=errors.note_launch,
    reports=errors.reports,
    dtypes=tuple(BY_NAME[name] for name in COMPUTED),
    queue=lambda function, *arguments: function(*arguments),
)
