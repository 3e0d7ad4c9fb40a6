"""CUDA, whose questions are answered and whose work is refused while no backend brings it (source: ``torch.cuda``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dispatch_core import AsyncDeviceError, OutOfMemoryError

from ..creation.legacy_types import list_types
from ..device_modules.absent_devices import AbsentDeviceError, list_functions
from ..device_modules.modules import make_getter
from . import amp, nvtx

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
else:
    __getattr__, __dir__ = make_getter("cuda")


AcceleratorError = AsyncDeviceError
DeferredCudaCallError = AbsentDeviceError
has_magma = has_half = _initialized = False
default_generators: tuple[Any, ...] = ()

_TYPES = list_types("cuda")
globals().update(_TYPES)

__all__ = ["OutOfMemoryError", "amp", "nvtx"]
__all__ += list(list_functions("cuda") | _TYPES)  # tables' names
