"""The package's older name: the same objects.

>>> import dispatch_backend_npu
>>> from dispatch_backend_npu import ascend
>>> ascend.is_available is dispatch_backend_npu.is_available
True
"""

from . import acl, aclnn, arrays, creation, ops, plugin, runtime
from .runtime import device_count, device_name, is_available, model_directory, unavailable_reason, versions

__all__ = [
    "acl",
    "aclnn",
    "arrays",
    "creation",
    "device_count",
    "device_name",
    "is_available",
    "model_directory",
    "ops",
    "plugin",
    "runtime",
    "unavailable_reason",
    "versions",
]
