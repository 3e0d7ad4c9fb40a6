"""The reason why a part of a device cannot be checked."""

from __future__ import annotations

from typing import Any

import dispatch_core as dc

__all__ = ["Absence", "require"]


class Absence(Exception):  # noqa: N818  # it is not an error
    """The device does not have a part that a check is about."""


def require(interface: dc.DeviceInterface, *parts: str) -> list[Any]:
    """Return parts of an interface.

    Raises ``Absence`` for one that it does not have.
    """
    missing = [part for part in parts if getattr(interface, part) is None]
    if missing:
        raise Absence(f"the device's interface has no {' and no '.join(missing)}")
    return [getattr(interface, part) for part in parts]
