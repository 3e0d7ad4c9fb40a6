"""The functions of a device's module, by torch's names (source: ``torch.cuda``, ``torch.accelerator``)."""

from __future__ import annotations

from functools import cached_property
from types import ModuleType, SimpleNamespace
from typing import Any

import dispatch_core as dc
from dispatch_aten.dtypes import bfloat16, float16
from dispatch_core import frontends, runtime
from dispatch_core.interrupts import whole
from dispatch_core.lazy_text import repr_by_attributes

from .memory_functions import MemoryFunctions
from .module_parts import Place
from .random_functions import RandomFunctions
from .stream_functions import StreamFunctions


class DeviceFunctions(StreamFunctions, MemoryFunctions, RandomFunctions):
    """The functions of one device; each is a method, and an attribute of the module."""

    def availability(self) -> dc.Availability:
        """Return whether a device can be used and, if not, the reason."""
        try:
            return frontends.availability(self.name)
        except dc.DispatchError as error:
            return dc.Availability(False, str(error))

    def is_available(self) -> bool:
        """Return whether a device can be used; ``availability()`` tells the reason."""
        return bool(self.availability())

    def device_count(self) -> int:
        """Return the number of devices; 0 where none can be used."""
        return runtime.count_devices(self.name) if self.is_available() else 0

    def get_device_properties(self, device: Place = None) -> Any:
        """Return the properties of a device as attributes, ``name`` and ``total_memory`` among them."""
        index = self.open(self.to_index(device))
        read = self.interface.properties
        return SimpleNamespace(**{"name": self.name, **({} if read is None else read(index))})

    def get_device_name(self, device: Place = None) -> str:
        """Return the name of a device as its maker calls it, the device's type where the backend knows none."""
        return str(self.get_device_properties(device).name)

    def get_device_capability(self, device: Place = None) -> tuple[int, int]:
        """Return the major and the minor number of what a device can do, where its properties tell them.

        Raises ``RuntimeError`` where they do not.
        """
        found = vars(self.get_device_properties(device))
        if "major" not in found or "minor" not in found:
            raise RuntimeError(
                f"Backend {self.name} doesn't support a capability\n"
                "Hint: properties(index) of its DeviceInterface has no 'major' and 'minor'"
            )
        return int(found["major"]), int(found["minor"])

    @cached_property
    def amp(self) -> ModuleType:
        """Automatic mixed precision on this device, by torch's older names."""
        from ..amp import device_forms  # few programs use these names

        module = ModuleType(f"{self.path}.amp", f"Automatic mixed precision on {self.name}, by torch's older names.")
        forward, backward = device_forms.make_decorators(self.name)
        autocast, scaler = device_forms.make_autocast(self.name), device_forms.make_scaler(self.name)
        found = {"GradScaler": scaler, "autocast": autocast, "custom_bwd": backward, "custom_fwd": forward}
        for name, each in found.items():
            setattr(module, name, each)
            each.__module__ = module.__name__
        module.__all__ = list(found)  # type: ignore[attr-defined]  # a module's names
        return module

    def init(self) -> None:
        """Open the thread's device now, which the first use of it would do too."""
        self.open(self.current_index())

    def is_initialized(self) -> bool:
        """Return whether a device was opened in this process."""
        return self.is_available() and self.is_opened()

    @property
    def OutOfMemoryError(self) -> type[dc.OutOfMemoryError]:  # noqa: N802  # torch's own name
        """The error that users get for want of memory."""
        return dc.OutOfMemoryError

    def device_of(self, tensor: Any) -> Any:
        """Return a block in which a tensor's device is the thread's; nothing changes where it lies elsewhere."""
        device = getattr(tensor, "device", None)
        return self.device(device.index if device is not None and device.type == self.name else None)

    def is_bf16_supported(self) -> bool:
        """Return whether the device computes with bfloat16."""
        dtypes = self.interface.dtypes
        return dtypes is None or bfloat16 in dtypes

    def get_amp_supported_dtype(self) -> list[Any]:
        """Return the dtypes that autocast may choose on the device."""
        dtypes = self.interface.dtypes
        return [each for each in (bfloat16, float16) if dtypes is None or each in dtypes]

    def current_device(self) -> int:
        """Return the index of the device that the thread works with, opening it."""
        return self.open(self.current_index())

    def set_device(self, device: Place) -> None:
        """Make another device the one that the thread works with; None and a negative index change nothing."""
        index = self.read_index(device)
        if index is not None and index >= 0:
            self.exchange(self.open(index))

    def exchange(self, index: int) -> int:
        """Make a device the thread's, and return the index of the former."""
        change = self.interface.exchange
        return 0 if change is None else change(index)

    def synchronize(self, device: Place = None) -> None:
        """Wait until everything that was queued on a device is done; raises the errors that it has reported since."""
        dc.synchronize(dc.Device(self.name, self.open(self.to_index(device))))

    def reset_device(self, device: Place = None) -> None:
        """Make a device usable again that cannot go on; tensors on it are lost."""
        runtime.reset_device(dc.Device(self.name, self.to_index(device)))

    @cached_property
    def device(self) -> type:
        """The guard of this device: ``with torchlike.<device>.device(1): ...``."""
        return type(
            "device", (DeviceGuard,), {"functions": self, "__module__": self.path, "__doc__": DeviceGuard.__doc__}
        )


class DeviceGuard:
    """Work with another device within a block; None and a negative index change nothing."""

    functions: DeviceFunctions
    __repr__ = repr_by_attributes()

    def __init__(self, device: Place) -> None:
        index = self.functions.read_index(device)
        self.idx = -1 if index is None else index
        self._guard: Any = None

    def __enter__(self) -> None:
        if self.idx >= 0:
            self._guard = runtime.OnDevice(self.functions.interface, self.functions.open(self.idx))
            self._guard.__enter__()

    @whole
    def __exit__(self, *exception: object) -> None:
        if self._guard is not None:
            try:
                self._guard.__exit__(*exception)
            except BaseException:
                # An interrupt; see Note [Where an interrupt falls] in `dispatch_core.interrupts`.
                self._guard.__exit__(None, None, None)
                raise
