"""Devices as users name them."""

from __future__ import annotations

from typing import Any, Final

import dispatch_core as dc
from dispatch_core.frontends import runtime
from dispatch_core.tracebacks import trim_traceback

device: Final = dc.Device


_default: dc.Device | None = None


def set_default_device(device: Any) -> None:
    """Choose the device of tensors that are made without one; None for the cpu (source: ``torch.set_default_device``)."""
    global _default
    _default = None if device is None else as_device(device)


def get_default_device() -> dc.Device:
    """Return the device of tensors that are made without one."""
    return _default or dc.Device("cpu")


def as_device(value: Any) -> dc.Device | None:
    """Convert None, which is the default device, a name or a device, as users write them."""
    try:
        return _default if value is None else dc.Device.parse(value)
    except Exception as error:
        trim_traceback(error)
        raise


def resolve_index(device: dc.Device, own: dc.Device) -> dc.Device:
    """Return a device of the kind of ``own`` with an index: without one, it means the current one, as in torch."""
    if device.type != own.type or device.index is not None or own.index is None:
        return device

    try:
        current = runtime(device.type).ensure
    except (dc.BackendError, AttributeError):
        return own
    return dc.Device(device.type, current())
