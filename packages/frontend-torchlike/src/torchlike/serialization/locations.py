"""Where the tensors of a file go.

Note [A file chooses no plugin]
    The devices that a file names are a wish. It is met where the device is cpu or meta, or where the program has loaded it;
    else `load` would import whichever installed plugin a file names. Only ``map_location``, the program's own choice, loads
    a device.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from dispatch_core import ArgumentError, BackendError
from dispatch_core.devices import Device, read_alias
from dispatch_core.frontends import availability, is_loaded

from ..device_modules.absent_names import TORCHS
from ..names.lazy_names import import_lazily
from ..values.devices import as_device
from .refusals import shorten

if TYPE_CHECKING:
    from ..values.argument_types import DeviceLike
else:
    DeviceLike = import_lazily("torchlike.values.argument_types", "DeviceLike")

#: A device, the devices by the saved ones' names, or a function of a storage and such a name.
MapLocation: TypeAlias = DeviceLike | dict[Any, Any] | Callable[[Any, str], Any]

_CPU: Final = Device("cpu")
#: Devices of torch's own that this build never has, unless another distribution offers them.
_ABSENT: Final = (*TORCHS, "hpu")


class _StorageStandIn:
    """Represents a storage, for a ``map_location`` that is a function: ``lambda storage, name: storage.cpu()``."""

    def __init__(self, device: Device = _CPU) -> None:
        self.device = device

    def cpu(self) -> _StorageStandIn:
        return _StorageStandIn()

    def to(self, device: Any, non_blocking: bool = False) -> _StorageStandIn:
        return _StorageStandIn(as_device(device) or _CPU)

    def __getattr__(self, name: str) -> Callable[..., _StorageStandIn]:
        """Return the method of a device, by its name or an alias: ``storage.acme(1)``."""
        from dispatch_core.runtime import has_interface  # with streams and the like, which few files need

        other = read_alias(name)
        if name[:1] == "_" or not has_interface(other):
            raise AttributeError(f"a storage has no method {name!r}", name=name, obj=self)
        from ..device_modules.device_methods import to_place  # as above

        return lambda device=None, non_blocking=False: _StorageStandIn(to_place(other, device))


class Locator:
    """Finds the device of each tensor: ``choose`` is the program's choice for a saved location, None for no choice."""

    def __init__(self, choose: Callable[[str], Any]) -> None:
        self._choose = choose
        self._known: dict[str, Device] = {}
        #: The error that the last location led to; it is the caller's, and says nothing against the file.
        self.error: Exception | None = None

    def __call__(self, location: Any) -> Device:
        """Return the device to load to; see Note [A file chooses no plugin]."""
        if type(location) is not str:
            raise ValueError("a tensor's device has no name")
        try:
            chosen = as_device(self._choose(location))
            if chosen is None:
                chosen = self._known.get(location)
            if chosen is None:
                chosen = self._known[location] = _find_loaded(location)
        except Exception as error:
            self.error = error
            raise
        # Every cpu is the one that there is.
        return _CPU if chosen.type == "cpu" else chosen


def _find_loaded(location: str) -> Device:
    """Return the device that a file names, where it can be used and nothing needs to be imported for it."""
    fault, hint = "which is not loaded, and load() loads no backend because a file names it", "pass map_location='cpu'"
    with suppress(ArgumentError, ValueError):  # no name, or an index of thousands of digits
        device = Device.parse(location)
        kind = device.type
        if kind in ("cpu", "meta"):
            return device
        if is_loaded(kind):
            available = availability(kind)
            if available:
                return device
            fault = f"which cannot be opened on this machine: {available.reason or 'its plugin gives no reason'}"
        elif kind in _ABSENT:
            raise RuntimeError(
                f"Attempting to deserialize object on a {kind.upper()} device but torchlike.{kind}.is_available() is False. "
                "If you are running on a CPU-only machine, please use load with map_location='cpu' to map your storages to "
                "the CPU."
            )
        else:
            hint += f", or load the device first, by dispatch_core.load_backend('{shorten(kind)}')"
    raise BackendError(f"Attempting to deserialize a tensor on the device '{shorten(location)}', {fault}", hint=hint)


def make_locator(map_location: MapLocation) -> Locator:
    """Return the function that says where tensors go.

    Raises ``TypeError`` for anything but None, a device, its name, a dict or a function.
    """
    if map_location is None:
        return Locator(lambda location: None)
    if isinstance(map_location, dict):
        return Locator(map_location.get)
    # A device is callable too: it decorates functions.
    if callable(map_location) and not isinstance(map_location, Device):

        def call(location: str) -> Any:
            found = map_location(_StorageStandIn(), location)
            return found.device if isinstance(found, _StorageStandIn) else found

        return Locator(call)
    wanted = as_device(map_location)
    return Locator(lambda location: wanted)
