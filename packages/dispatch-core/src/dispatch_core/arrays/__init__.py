"""Arrays: their types, their backends, their readers, and the tensor classes around them."""

from __future__ import annotations

from .access import device, dtype, has_strides, is_mutable, shape, storage_of, storage_offset, strides
from .frontend import Frontend, rebind, register_frontend, wrap_like
from .indices import note_device
from .owners import device_key
from .protocols import AutogradFormula
from .types import ArrayType, Availability, BackendInfo

__all__ = [
    "ArrayType",
    "AutogradFormula",
    "Availability",
    "BackendInfo",
    "Frontend",
    "device",
    "device_key",
    "dtype",
    "has_strides",
    "is_mutable",
    "note_device",
    "rebind",
    "register_frontend",
    "shape",
    "storage_of",
    "storage_offset",
    "strides",
    "wrap_like",
]
