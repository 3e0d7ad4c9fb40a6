"""The claims of a device: its dtypes, and the parts that its interface has."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Final

import dispatch_core as dc
from dispatch_core.tools import find_interface

from ..dtypes import BY_NAME

_PARTS: Final[tuple[str, ...]] = tuple(dc.DeviceInterface.__slots__)


@dataclass(frozen=True, slots=True)
class Claims:
    """A device's dtypes, the parts that its interface has, and those that it lacks."""

    dtypes: tuple[str, ...]
    parts: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()


def find_claims(device: str, dtypes: Iterable[str]) -> Claims:
    """Return the claims of a device with these dtypes.

    >>> "streams" in find_claims("cpu", ["float32"]).lacks
    True
    """
    interface = find_interface(device)
    has = tuple(part for part in _PARTS if getattr(interface, part) is not None)
    return Claims(tuple(sorted(dtypes)), has, tuple(part for part in _PARTS if part not in has))


def find_versions(distribution: str) -> dict[str, str]:
    """Return the versions that a report is about: the device's distribution, the core, the kit, Python, NumPy.

    >>> sorted(find_versions(""))
    ['dispatch-core', 'dispatch-operators-aten', 'numpy', 'python', 'system']
    """
    names = filter(None, dict.fromkeys([distribution, "dispatch-core", "dispatch-operators-aten", "numpy"]))
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return {**found, "python": platform.python_version(), "system": platform.platform(terse=True)}


def claimed_dtypes(device: str) -> frozenset[str] | None:
    """Return the names of the dtypes that a device's interface lists; None where it lists none.

    Raises ``BackendError`` for a name that is not a dtype's.
    """
    given = find_interface(device).dtypes
    if given is None:
        return None
    names = frozenset(map(str, given))
    if strange := sorted(names - BY_NAME.keys()):
        raise dc.BackendError(
            f"the interface of device {device!r} lists {', '.join(map(repr, strange))} among its dtypes",
            hint=f"dtypes are {', '.join(BY_NAME)}",
        )
    return names
