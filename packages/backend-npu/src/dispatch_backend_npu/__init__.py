"""The npu backend: Ascend NPUs through AscendCL, by ctypes alone.

>>> import dispatch_backend_npu
>>> isinstance(dispatch_backend_npu.is_available(), bool)
True
"""

from .runtime import (
    device_count,
    device_name,
    installation_faults,
    is_available,
    model_directory,
    unavailable_reason,
    versions,
)

__all__ = [
    "device_count",
    "device_name",
    "installation_faults",
    "is_available",
    "model_directory",
    "unavailable_reason",
    "versions",
]
