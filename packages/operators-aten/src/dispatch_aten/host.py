"""Copies from a device to the host by ``prims::device_get``, whose result no shape rule describes."""

from __future__ import annotations

from functools import cache
from typing import Any

import dispatch_core as dc

__all__ = ["get"]


@cache
def _find_operator() -> Any:
    return dc.ops.prims.device_get.default


def get(tensor: Any) -> Any:
    """Return the elements of an array or a tensor as a NumPy array, as the kernel of its device returns them.

    Raises ``KernelResultError``, naming the kernel, where they are no array of the tensor's shape and dtype.

    >>> import numpy as np
    >>> get(np.arange(3))
    array([0, 1, 2])
    """
    array = _find_operator()(tensor)
    if array is getattr(tensor, "_dispatch_data", tensor):
        return array
    wanted = f"{dc.dtype(tensor).short}{list(dc.shape(tensor))}"
    try:
        found = f"{array.dtype}{list(array.shape)}"
    except (AttributeError, TypeError):
        found = f"an object of type {type(array).__name__}"
    if found == wanted:
        return array
    device = dc.device(tensor)
    kernel = dc.registry.get("prims::device_get").computed_table()[dc.device_key(device.type)]
    raise dc.KernelResultError(
        f"prims::device_get: the result for a tensor {wanted} on {device} is {found}\n"
        f"The kernel was registered at {kernel.origin}",
        hint="it returns a numpy.ndarray with the tensor's shape and dtype",
    )
