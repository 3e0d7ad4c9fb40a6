"""Copies between pinned memory of the host and a device that do not wait, by the parts ``upload`` and ``download``."""

from __future__ import annotations

from typing import Any

from ..arrays.launches import number_copy
from ..devices import Device
from .guards import OnDevice, find_interface, open_device

__all__ = ["download", "upload"]


def upload(values: Any, device: Device) -> Any:
    """Return an array on a device with the values of NumPy's array in pinned memory; None where it has no ``upload``.

    The values may still be copied when this returns, in the order of the device's current stream.

    >>> import dispatch_core as dc
    >>> with dc.register_backend(dc.BackendInfo("plain"), {}):
    ...     upload([1.0], Device("plain", 0)) is None
    True
    """
    interface = find_interface(device.type)
    copy = interface.upload
    if copy is None:
        return None
    index = device.index or 0
    open_device(device)
    with OnDevice(interface, index):
        return number_copy(device.type, "upload", (), lambda: copy(values, index))


def download(array: Any, host: Any, device: Device) -> bool:
    """Copy a device's array to a NumPy array in pinned memory, both row-major; return False where it has no ``download``.

    The values may still be copied when this returns: to wait for the device's current stream is the caller's business.

    >>> import dispatch_core as dc
    >>> with dc.register_backend(dc.BackendInfo("plain"), {}):
    ...     download([1.0], [0.0], Device("plain", 0))
    False
    """
    interface = find_interface(device.type)
    copy = interface.download
    if copy is None:
        return False
    with OnDevice(interface, device.index or 0):
        number_copy(device.type, "download", [array], lambda: copy(array, host) and None)
    return True
