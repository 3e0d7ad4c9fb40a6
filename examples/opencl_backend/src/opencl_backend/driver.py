"""The OpenCL devices of this machine, and which of them is the thread's."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from typing import Any, Final

import pyopencl as cl

import dispatch_core as dc

_thread: Final = threading.local()


@functools.cache
def find_devices() -> tuple[Any, ...]:
    """Return the first platform's devices that compute in double precision; a single processor is two halves.

    Raises ``cl.Error`` where no driver is installed.
    """
    for platform in cl.get_platforms():
        found: list[Any] = [device for device in platform.get_devices() if device.double_fp_config]
        if len(found) == 1 and (half := found[0].max_compute_units // 2):
            with contextlib.suppress(cl.Error):  # a processor that cannot be divided
                return tuple(found[0].create_sub_devices([cl.device_partition_property.EQUALLY, half]))[:2]
        if found:
            return tuple(found)
    return ()


@functools.cache
def _open() -> tuple[Any, int]:
    return cl.Context(list(find_devices())), os.getpid()


def open_context() -> Any:
    """Open the devices, once in the process; the context owns memory and programs for all of them."""
    context, process = _open()
    if process != os.getpid():  # where the driver's threads are not, and waiting for them would not end
        raise dc.BackendError(
            "opencl was opened before this process was forked, and cannot be used in the child",
            hint="start processes by 'spawn', or open the device in the child alone",
        )
    return context


def is_open() -> bool:
    """Return whether this process has opened the devices."""
    return _open.cache_info().currsize > 0 and _open()[1] == os.getpid()


def current_device() -> int:
    """Return the index of the thread's device."""
    return getattr(_thread, "index", 0)


def exchange_device(index: int) -> int:
    """Make another device the thread's, and return the former."""
    before, _thread.index = current_device(), index
    return before
