"""The thread's device: its index, and the guard that changes it within a block."""

from __future__ import annotations

from ..arrays.thread_device import OnDevice, find_current
from ..devices import Device
from ..discovery import loader
from ..errors import ArgumentError, BackendError
from ..surroundings.distributions import BACKENDS
from .accelerators import current_accelerator
from .interface import NONE, DeviceInterface

__all__ = [
    "OnDevice",
    "count_devices",
    "find_interface",
    "has_interface",
    "is_opened",
    "open_device",
    "provides",
    "resolve",
]


def provides(device: str) -> bool:
    """Return whether a backend of a device's name is installed, or registered by the program; nothing is loaded.

    >>> provides("nowhere")
    False
    """
    plugins = loader()
    return plugins.is_loaded(device) or plugins.catalog.usable(BACKENDS, device) is not None


def has_interface(device: str) -> bool:
    """Return whether a device has an interface: accelerators have one, and other devices are asked once they are loaded.

    >>> has_interface("cpu")
    False
    """
    plugins = loader()
    if plugins.is_loaded(device):
        return device in plugins.accelerators() or find_interface(device) is not NONE
    return device in plugins.accelerators()


def count_devices(device: str) -> int:
    """Return how many devices of a type there are; 1 where its plugin does not say.

    Raises ``BackendNotFoundError`` and ``BackendError`` where the backend cannot be loaded, or does not answer.
    """
    return loader().device_count(device)


def open_device(device: Device) -> None:
    """Open a device as its first use would; the thread's own does not change.

    Raises ``BackendUnavailableError`` for one that is not there.
    """
    plugins = loader()
    plugins.open_device(device.type, device.index)
    initialized = find_interface(device.type).initialized
    if initialized is not None and not initialized():
        plugins.open_again(device.type, device.index)


def is_opened(device: str) -> bool:
    """Return whether a device of a type was opened in this process; nothing is loaded."""
    plugins = loader()
    if not plugins.is_loaded(device):
        return False
    initialized = find_interface(device).initialized
    return plugins.is_opened(device) if initialized is None else bool(initialized())


def find_interface(device: str) -> DeviceInterface:
    """Return a device's interface, loading its backend; one without parts where the plugin has none.

    Raises ``BackendNotFoundError`` and ``BackendError`` where the backend cannot be loaded.
    """
    return loader().device_interface(device)


def resolve(device: str | Device | int | None, expected: str | None = None) -> Device:
    """Return a device with its index: of a name alone the thread's current one, of None or an int the accelerator's.

    Raises ``ArgumentError`` where another type of device is ``expected``, ``BackendError`` where there is no accelerator.
    """
    if device is None or isinstance(device, int):
        name = expected or _accelerator()
        index = device
    else:
        named = Device.parse(device)
        name, index = named.type, named.index
    if expected is not None and name != expected:
        raise ArgumentError(f"Expected a device of type {expected}, but got: {device}")
    if index is None:
        current = find_current(name)
        index = 0 if current is None else current()
    return Device(name, index)


def _accelerator() -> str:
    found = current_accelerator()
    if found is None:
        raise BackendError("Cannot access accelerator device when none is available.")
    return found.type
