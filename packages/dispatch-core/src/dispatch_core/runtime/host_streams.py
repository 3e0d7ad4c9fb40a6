"""The one stream of the devices that compute before a call returns, and the numbers that torch has for devices."""

from __future__ import annotations

from typing import Final

from ..devices import Device
from ..errors import ArgumentError
from .accelerators import current_accelerator
from .guards import resolve
from .interface import DeviceInterface

__all__ = ["AT_ONCE", "HOST", "find_place", "name_of"]

#: The devices that compute before a call returns.
AT_ONCE: Final = ("cpu", "meta")
#: The names of devices by the numbers that torch has for them (source: ``c10::DeviceType``).
_NUMBERED: Final = (
    "cpu cuda mkldnn opengl opencl ideep hip fpga maia xla vulkan metal xpu mps meta hpu ve lazy ipu mtia"
).split()


class _OneStream:
    """The functions of a stream that has no work which is not done."""

    def create(self, index: int, priority: int = 0) -> int:
        return 0

    def default(self, index: int) -> int:
        return 0

    current = default

    def exchange(self, index: int, stream: int) -> int:
        return 0

    def query(self, stream: int) -> bool:
        return True

    def synchronize(self, stream: int) -> None:
        pass


#: The interface of these devices, as far as streams go.
HOST: Final = DeviceInterface(streams=_OneStream())


def name_of(device: str | int) -> str:
    """Return the name of a type of devices, which torch gives as a number.

    >>> name_of(0), name_of(12), name_of("toy")
    ('cpu', 'xpu', 'toy')
    """
    if isinstance(device, str):
        return device
    if not isinstance(device, int) or not 0 <= device < len(_NUMBERED):
        raise ArgumentError(f"Stream(): no type of devices has the number {device!r}", hint="it may be a name")
    return _NUMBERED[device]


def find_place(device: str | Device | int | None) -> Device:
    """Return the device of a stream or an event, with its index where it has one; for None the accelerator's, or the cpu.

    Raises ``BackendError`` for an index where there is no accelerator.
    """
    if device is None and current_accelerator() is None:
        return Device("cpu")
    found = resolve(device)
    return Device(found.type) if found.type in AT_ONCE else found
