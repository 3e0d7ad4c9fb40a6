"""The runtime: devices, streams, events, memory. Importing it loads nothing of the toolkit."""

from .allocator import Block, allocate, empty_cache, mem_get_info
from .device import current as current_device
from .device import ensure, finalize, guard, init, is_initialized, set_current, synchronize
from .event import Event
from .probe import device_count, device_name, is_available, model_directory, unavailable_reason, versions
from .stream import Stream, current, default

__all__ = [
    "Block",
    "Event",
    "Stream",
    "allocate",
    "current",
    "current_device",
    "default",
    "device_count",
    "device_name",
    "empty_cache",
    "ensure",
    "finalize",
    "guard",
    "init",
    "is_available",
    "is_initialized",
    "mem_get_info",
    "model_directory",
    "set_current",
    "synchronize",
    "unavailable_reason",
    "versions",
]
