"""AscendCL through ctypes: prototypes, constants, errors, and the loading of the libraries."""

from .errors import AclError, FunctionNotFoundError, OutOfMemoryError, ToolkitNotFoundError

__all__ = ["AclError", "FunctionNotFoundError", "OutOfMemoryError", "ToolkitNotFoundError"]
