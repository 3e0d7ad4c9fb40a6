"""Where the tensors of a file go."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from dispatch_core.devices import Device

from ..devices import as_device
from ..lazy_names import import_lazily

if TYPE_CHECKING:
    from ..argument_types import DeviceLike
else:
    DeviceLike = import_lazily("torchlike.argument_types", "DeviceLike")

__all__ = ["Locator", "MapLocation", "make_locator"]

#: The saved device's name → the device to load to.
Locator: TypeAlias = Callable[[str], Any]
#: A device, the devices by the saved ones' names, or a function of a storage and such a name.
MapLocation: TypeAlias = DeviceLike | dict[Any, Any] | Callable[[Any, str], Any]

_ABSENT: Final = ("cuda", "xpu", "mps", "hpu", "mtia")


class _StorageStandIn:
    """Stands for a storage on the cpu, for a ``map_location`` that is a function."""

    def cpu(self) -> _StorageStandIn:
        return self


def _check(location: str) -> str:
    kind = location.partition(":")[0]
    if kind in _ABSENT:
        raise RuntimeError(
            f"Attempting to deserialize object on a {kind.upper()} device but torchlike.{kind}.is_available() is False. If "
            "you are running on a CPU-only machine, please use load with map_location='cpu' to map your storages to the CPU."
        )
    return location


def make_locator(map_location: MapLocation) -> Locator:
    """Return the function that says where tensors go.

    Raises ``TypeError`` for anything but None, a device, its name, a dict or a function.
    """
    if map_location is None:
        return _check
    if isinstance(map_location, dict):
        return lambda location: map_location.get(location, location)
    # A device is callable too: it decorates functions.
    if callable(map_location) and not isinstance(map_location, Device):

        def call(location: str) -> Any:
            storage = _StorageStandIn()
            found = map_location(storage, location)
            return _check(location) if found is None else "cpu" if isinstance(found, _StorageStandIn) else found

        return call
    wanted = as_device(map_location)
    return lambda location: wanted
