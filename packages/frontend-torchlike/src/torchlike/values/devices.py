"""Devices as users name them."""

from __future__ import annotations

from typing import Any, Final

import dispatch_core as dc
from dispatch_core import devices, frontends
from dispatch_core.tracebacks import trim_traceback

device = dc.Device
_CPU: Final = dc.Device.parse("cpu")
default_device: Final = devices.default_device


def set_default_device(device: Any) -> None:
    """Choose the device of this thread's tensors made without one; None for the cpu (source: ``torch.set_default_device``).

    ``with torchlike.device("meta"):`` chooses it for a block, and ``@torchlike.device("meta")`` for a function.
    """
    chosen = as_device(device)
    if chosen is not None:
        dc.device_key(chosen.type)  # which refuses a name that no backend has
    devices.set_default_device(chosen)


def get_default_device() -> dc.Device:
    """Return the device of tensors that are made without one, with the index on which they lie."""
    found = devices.default_device()
    if found is None or found.index is not None:
        return found or _CPU
    index = frontends.find_named_index(found.type, frontends.find_current(found.type))
    return found if index is None else dc.Device(found.type, index)


def factory_device(value: Any) -> dc.Device | None:
    """Convert a device as users write it; for None, return the default, or None where there is none."""
    return devices.default_device() if value is None else as_device(value)


def as_device(value: Any) -> dc.Device | None:
    """Convert None, a name, a device, or an index of the accelerator, as users write them."""
    if value is None or type(value) is device:
        found: dc.Device | None = value
        return found
    try:
        if type(value) is int:
            return dc.Device(value)  # type: ignore[arg-type]  # an index alone, which the field does not keep
        return dc.Device.parse(value)
    except Exception as error:
        trim_traceback(error)
        raise


def resolve_index(device: dc.Device, own: dc.Device) -> dc.Device:
    """Return a device of the kind of ``own`` with an index: without one, it means the current one, as in torch.

    Where arrays may lie on several devices it means the type, so that a tensor stays where it was placed.
    """
    if device.type != own.type or device.index is not None or own.index is None:
        return device
    if frontends.PLACING[0] & dc.device_key(device.type).value:
        return own
    current = frontends.find_current(device.type)
    if current is not None and (recording := frontends.recording()) is not None:
        recording.guard(current)
    return own if current is None else dc.Device(device.type, current())
