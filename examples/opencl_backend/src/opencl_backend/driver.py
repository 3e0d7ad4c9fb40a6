"""The OpenCL devices of this machine, and which of them is the thread's."""

from __future__ import annotations

import functools
import os
import sys
import threading
from typing import Any, Final

import pyopencl as cl

import dispatch_core as dc


@functools.cache
def find_devices() -> tuple[Any, ...]:
    """Return the first platform's devices that compute in double precision; a single processor is two halves.

    Raises ``cl.Error`` where no driver is installed.
    """
    for platform in cl.get_platforms():
        found: list[Any] = [device for device in platform.get_devices() if device.double_fp_config]
        if len(found) == 1 and (half := found[0].max_compute_units // 2):
            try:
                return tuple(found[0].create_sub_devices([cl.device_partition_property.EQUALLY, half]))[:2]
            except cl.Error:
                pass  # a processor that cannot be divided
        if found:
            return tuple(found)
    return ()


@functools.cache
def open_context() -> Any:
    """Open the devices, once in the process; the context owns memory and programs for all of them."""
    if _lost:
        raise dc.BackendError(
            "opencl was opened before this process was forked, and cannot be used in the child",
            hint="start processes by 'spawn', or open the device in the child alone",
        )
    if sys.platform != "win32":
        os.register_at_fork(after_in_child=_lose)
    return cl.Context(list(find_devices()))


def is_open() -> bool:
    """Return whether the devices have been opened."""
    return open_context.cache_info().currsize > 0


def _lose() -> None:
    """Refuse the devices from now on: the threads of a driver are not in a forked process, and waiting would not end."""
    _lost.append(True)
    open_context.cache_clear()


#: Has an entry in a process that was forked after its parent had opened the devices.
_lost: Final[list[bool]] = []
_thread: Final = threading.local()


def current_device() -> int:
    """Return the index of the thread's device."""
    return getattr(_thread, "index", 0)


def exchange_device(index: int) -> int:
    """Make another device the thread's, and return the former."""
    before, _thread.index = current_device(), index
    return before
