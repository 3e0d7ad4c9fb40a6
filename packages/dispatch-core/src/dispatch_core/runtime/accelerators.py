"""The accelerators: the devices that ``torch.accelerator`` speaks of, told by their distributions' entry points.

A distribution declares a device of its own as one in the group ``dispatch_core.accelerators``, which is read without
importing anything. ``DISPATCH_ACCELERATOR`` names the one that counts.
"""

from __future__ import annotations

import os
from typing import Final

from ..devices import Device
from ..discovery import loader
from ..errors import BackendError, DispatchError

__all__ = ["current_accelerator", "list_accelerators"]

VARIABLE: Final = "DISPATCH_ACCELERATOR"


def list_accelerators(*, available: bool = False) -> tuple[str, ...]:
    """Return the names of the devices that are accelerators, sorted; with ``available`` those that can be opened here.

    Only that question loads their backends; one whose plugin fails is not available.

    >>> "cpu" in list_accelerators()
    False
    """
    plugins = loader()
    chosen = os.environ.get(VARIABLE, "").strip()
    names = sorted({*plugins.accelerators(), *([chosen] if chosen and plugins.is_loaded(chosen) else ())})
    return tuple(filter(_is_available, names)) if available else tuple(names)


def _is_available(name: str) -> bool:
    try:
        return bool(loader().availability(name))
    except DispatchError:
        return False


def current_accelerator() -> Device | None:
    """Return the accelerator of this machine, without an index, or None where there is none.

    It is the device that ``DISPATCH_ACCELERATOR`` names, else the only one that can be opened. Raises ``BackendError``
    where there are several, and for a variable that names no device that can be opened.

    >>> current_accelerator() in (None, *map(Device, list_accelerators()))
    True
    """
    chosen = os.environ.get(VARIABLE, "").strip()
    if chosen:
        if not _is_available(chosen):
            raise BackendError(
                f"{VARIABLE} names {chosen!r}, which cannot be opened on this machine",
                hint=f"`python -m dispatch_core doctor {chosen}` shows the reason",
            )
        return Device(chosen)
    found = list_accelerators(available=True)
    if len(found) > 1:
        raise BackendError(
            f"this machine has several accelerators: {', '.join(found)}",
            hint=f"name one in the environment variable {VARIABLE}, or name the device in each call",
        )
    return Device(found[0]) if found else None
