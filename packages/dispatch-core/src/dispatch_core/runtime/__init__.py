"""Devices at run time: what a backend's interface has of streams, events, memory and indices, and what users get by it."""

from __future__ import annotations

from .accelerators import current_accelerator, list_accelerators
from .guards import OnDevice, count_devices, find_interface, has_interface, is_opened, open_device, provides, resolve
from .host_fallback import computed_on_host, host_kernel
from .interface import DeviceInterface
from .promotion import promote
from .streams import Event, Stream, current_stream, default_stream, set_stream
from .synchronization import computed_for_sizes, synchronize

__all__ = [
    "DeviceInterface",
    "Event",
    "OnDevice",
    "Stream",
    "computed_for_sizes",
    "computed_on_host",
    "count_devices",
    "current_accelerator",
    "current_stream",
    "default_stream",
    "find_interface",
    "has_interface",
    "host_kernel",
    "is_opened",
    "list_accelerators",
    "open_device",
    "promote",
    "provides",
    "resolve",
    "set_stream",
    "synchronize",
]
