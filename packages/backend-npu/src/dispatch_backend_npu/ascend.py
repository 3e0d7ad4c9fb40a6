"""The package's older name: the same objects.

>>> import dispatch_backend_npu
>>> from dispatch_backend_npu import ascend
>>> ascend.is_available is dispatch_backend_npu.is_available
True
"""

from . import acl, arrays, plugin, runtime
from .runtime import device_count, device_name, is_available, unavailable_reason

__all__ = ["acl", "arrays", "device_count", "device_name", "is_available", "plugin", "runtime", "unavailable_reason"]
