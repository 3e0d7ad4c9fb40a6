"""Devices at run time: what a backend's interface has of streams, events, memory and indices, and what users get by it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .accelerators import current_accelerator, list_accelerators
    from .determinism import is_deterministic, set_deterministic
    from .guards import (
        OnDevice,
        count_devices,
        find_interface,
        has_interface,
        is_opened,
        open_device,
        provides,
        resolve,
    )
    from .host_copies import download, upload
    from .host_fallback import computed_on_host, host_kernel
    from .host_layouts import lay_out_host
    from .immediate_calls import note_write, run_at_once
    from .interface import DeviceInterface
    from .promotion import promote
    from .streams import Event, Stream, current_stream, default_stream, set_stream
    from .synchronization import computed_for_sizes, reset_device, synchronize

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
    "download",
    "find_interface",
    "has_interface",
    "host_kernel",
    "is_deterministic",
    "is_opened",
    "lay_out_host",
    "list_accelerators",
    "note_write",
    "open_device",
    "promote",
    "provides",
    "reset_device",
    "resolve",
    "run_at_once",
    "set_deterministic",
    "set_stream",
    "synchronize",
    "upload",
]

#: Module → the names in it; each is imported at its first use, because every program asks for an interface.
_NAMES: Final = {
    ".accelerators": "current_accelerator list_accelerators",
    ".determinism": "is_deterministic set_deterministic",
    ".guards": "OnDevice count_devices find_interface has_interface is_opened open_device provides resolve",
    ".host_copies": "download upload",
    ".host_fallback": "computed_on_host host_kernel",
    ".host_layouts": "lay_out_host",
    ".immediate_calls": "note_write run_at_once",
    ".interface": "DeviceInterface",
    ".promotion": "promote",
    ".streams": "Event Stream current_stream default_stream set_stream",
    ".synchronization": "computed_for_sizes reset_device synchronize",
}
_HOMES: Final = {name: module for module, names in _NAMES.items() for name in names.split()}


def _find(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_HOMES[name], __name__), name)
    return found


if not TYPE_CHECKING:  # it would make every misspelt name one of any type
    __getattr__ = _find
