"""CUDA, which is not there: questions are answered, and work is refused (source: ``torch.cuda``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..creation.legacy_types import list_types
from ..surface.absent_devices import AbsentDeviceError, list_functions
from . import amp, nvtx

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


#: Raised by a device that has no memory left, which there is not.
OutOfMemoryError = type(
    "OutOfMemoryError",
    (RuntimeError,),
    {"__module__": __name__, "__doc__": "Raised where a device's memory is used up."},
)
AcceleratorError = DeferredCudaCallError = AbsentDeviceError
has_magma = has_half = _initialized = False
default_generators: tuple[Any, ...] = ()

_FUNCTIONS = list_functions("CUDA") | list_types("cuda")
globals().update(_FUNCTIONS)

__all__ = ["OutOfMemoryError", "amp", "nvtx"]
__all__ += list(_FUNCTIONS)  # a table's names
