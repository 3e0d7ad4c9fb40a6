"""Devices as users name them."""

from __future__ import annotations

from typing import Any, Final

import dispatch_core as dc
from dispatch_core.frontends import runtime
from dispatch_core.tracebacks import trim_traceback

device: Final = dc.Device


def as_device(value: Any) -> dc.Device | None:
    """Convert None, a name or a device, as users write them."""
    try:
        return None if value is None else dc.Device.parse(value)
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
