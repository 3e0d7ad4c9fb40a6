"""The dispatch keys of devices, as torch's registrations name them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import dispatch_core as dc

__all__ = ["as_list", "autocast_key", "find_key", "key_of_device"]

#: Devices of torch → their keys; those of ours besides are asked for by name.
_KEYS: Final = {
    "cpu": "CPU",
    "cuda": "CUDA",
    "hip": "HIP",
    "hpu": "HPU",
    "ipu": "IPU",
    "lazy": "Lazy",
    "meta": "Meta",
    "mps": "MPS",
    "mtia": "MTIA",
    "privateuseone": "PrivateUse1",
    "ve": "VE",
    "xla": "XLA",
    "xpu": "XPU",
}


def as_list(device_types: str | Iterable[str] | None) -> list[str | None]:
    """Return device types as a list, in which None represents every device."""
    return [device_types] if device_types is None or isinstance(device_types, str) else [*device_types]


def key_of_device(device: str | None) -> str:
    """Return the name of a device's key, that of every device for None and "default".

    Raises ``RuntimeError`` for a name of no device.

    >>> key_of_device("cpu"), key_of_device(None)
    ('CPU', 'CompositeExplicitAutograd')
    """
    if device is None or device == "default":
        return "CompositeExplicitAutograd"
    found = _KEYS.get(device)
    if found is not None:
        return found
    known = dc.backends()
    if device in known:
        return dc.device_key(device).name
    raise RuntimeError(
        f"Expected one of {', '.join(dict.fromkeys((*_KEYS, *known)))} device type at start of device string: {device}"
    )


def find_key(name: str) -> str:
    """Return the name of a dispatch key that is named, or of the key of a device."""
    return name if name in dc.DispatchKey else key_of_device(name)


def autocast_key(device: str) -> str:
    """Return the name of a device's key of autocast.

    Raises ``ValueError`` for a device without one, ``RuntimeError`` for a name of no device.
    """
    key = f"Autocast{key_of_device(device)}"
    if key not in dc.DispatchKey:
        raise ValueError(f"Device type '{device}' does not support autocast.")
    return key
