"""Devices at run time: what a backend's interface has of streams, events, memory and indices, and what users get by it."""

from __future__ import annotations

from .accelerators import current_accelerator, list_accelerators
from .interface import DeviceInterface
from .streams import Event, Stream, current_stream, default_stream, set_stream
from .synchronization import computed_for_sizes, synchronize

__all__ = [
    "DeviceInterface",
    "Event",
    "Stream",
    "computed_for_sizes",
    "current_accelerator",
    "current_stream",
    "default_stream",
    "list_accelerators",
    "set_stream",
    "synchronize",
]
