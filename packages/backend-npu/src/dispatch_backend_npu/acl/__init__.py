"""AscendCL through ctypes: prototypes, constants, errors, and the loading of the libraries."""

from .errors import (
    AclError,
    AclWarning,
    DeviceTimeoutError,
    FunctionNotFoundError,
    OutOfMemoryError,
    ToolkitNotFoundError,
    ToolkitVersionError,
)

__all__ = [
    "AclError",
    "AclWarning",
    "DeviceTimeoutError",
    "FunctionNotFoundError",
    "OutOfMemoryError",
    "ToolkitNotFoundError",
    "ToolkitVersionError",
]
