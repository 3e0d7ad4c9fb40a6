"""The accelerator of this machine: the npu where there is one (source: ``torch.accelerator``)."""

from __future__ import annotations

from typing import Any

import dispatch_core as dc

from . import npu
from .values.argument_types import DeviceLike

__all__ = [
    "current_accelerator",
    "current_device_idx",
    "current_device_index",
    "current_stream",
    "device_count",
    "empty_cache",
    "is_available",
    "set_device_idx",
    "set_device_index",
    "synchronize",
]


def is_available() -> bool:
    """Return whether there is one."""
    return npu.is_available()


def device_count() -> int:
    """Return the number of its devices; 0 where there is none."""
    return npu.device_count()


def current_accelerator(check_available: bool = False) -> dc.Device | None:
    """Return its device without an index, None where there is none."""
    return dc.Device("npu") if npu.is_available() else None


def _require() -> Any:
    if not npu.is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return npu


def current_device_index() -> int:
    """Return the number of the device that the thread works with; ``RuntimeError`` where there is none."""
    return int(_require().current_device())


def set_device_index(device: Any, /) -> None:
    """Make another device the one that the thread works with; ``RuntimeError`` where there is none."""
    _require().set_device(device)


current_device_idx, set_device_idx = current_device_index, set_device_index


def synchronize(device: DeviceLike = None, /) -> None:
    """Wait until everything that was queued is done; ``RuntimeError`` where there is none."""
    _require().synchronize(device)


def current_stream(device: DeviceLike = None, /) -> Any:
    """Return the stream that the thread works with; ``RuntimeError`` where there is none."""
    return _require().current_stream(device)


def empty_cache() -> None:
    """Return memory that no tensor holds to the device."""
    npu.empty_cache()
