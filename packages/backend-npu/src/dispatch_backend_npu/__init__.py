"""The npu backend: Ascend NPUs through ACL. So far it says whether the toolkit is there; kernels come later.

>>> import dispatch_backend_npu
>>> isinstance(dispatch_backend_npu.is_available(), bool)
True
"""

from .runtime import is_available, unavailable_reason

__all__ = ["is_available", "unavailable_reason"]
