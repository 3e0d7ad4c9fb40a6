"""What the functions of a device share: its name, its interface, and indices as users write them."""

from __future__ import annotations

from typing import Any, TypeAlias

import dispatch_core as dc
from dispatch_core import runtime

#: A device, its name, or an index; None for the thread's current one.
Place: TypeAlias = dc.Device | str | int | None


class ModulePart:
    """A device whose functions a module has; the backend is loaded at the first call that needs it."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def interface(self) -> dc.DeviceInterface:
        """What the backend offers; raises where there is none."""
        return runtime.find_interface(self.name)

    def require(self, *parts: str) -> dc.DeviceInterface:
        """Return the interface; raise ``BackendError`` where it lacks one of these parts."""
        found = self.interface
        found.require(self.name, *parts)
        return found

    def read_index(self, device: Any) -> int | None:
        """Return the index of a device as users write it; ``ValueError`` for a device of another type."""
        if device is None or isinstance(device, int):
            return device
        found = dc.Device.parse(device)
        if found.type != self.name:
            raise ValueError(f"Expected a {self.name} device, but got: {found}")
        return found.index

    def to_index(self, device: Any) -> int:
        """Return the same, the thread's own index for a device without one."""
        index = self.read_index(device)
        return self.current_index() if index is None else index

    def current_index(self) -> int:
        """Return the index of the thread's device, which is not opened."""
        current = self.interface.current
        return 0 if current is None else current()

    def open(self, index: int) -> int:
        """Open a device, as its first use would; raise ``BackendUnavailableError`` for one that is not there."""
        runtime.open_device(dc.Device(self.name, index))
        return index

    def is_opened(self) -> bool:
        """Return whether a device of the type was opened in this process."""
        return runtime.is_opened(self.name)

    def __repr__(self) -> str:
        return f"<functions of the device {self.name}>"
