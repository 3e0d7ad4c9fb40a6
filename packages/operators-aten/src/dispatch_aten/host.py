"""Arrays of the host: copies by ``prims::device_get``, whose result no shape rule describes, and pinned memory.

Pinned memory is host memory that a device copies from and to by itself, of the part ``host_allocator`` of its interface.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final, cast
from weakref import finalize

import dispatch_core as dc
from dispatch_core import frontends

__all__ = ["empty_pinned", "find_pinning", "get", "lay_out"]

#: The id of the array that has the memory of an allocation → the type of the device that copies it.
_COPIED_BY: Final[dict[int, str]] = {}


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


def lay_out(array: Any, strides: tuple[int, ...]) -> Any:
    """Return an array that `get` returned with these strides, those of a layout without gaps: copied where it has others.

    >>> import numpy as np
    >>> lay_out(np.zeros((2, 3), np.float32), (1, 2)).strides
    (4, 8)
    """
    own = getattr(array, "lay_out", None)  # of the elements that a captured call will have
    if own is not None:
        return own(strides)
    from dispatch_core.runtime import lay_out_host  # most programs stay on one device

    return lay_out_host(array, strides)


def find_pinning(array: Any) -> str | None:
    """Return the type of the device that copies the memory of NumPy's array by itself, None for other memory.

    >>> import numpy as np
    >>> find_pinning(np.ones(3)) is None
    True
    """
    while array is not None and _COPIED_BY:
        found = _COPIED_BY.get(id(array))
        if found is not None:
            return found
        array = array.array if isinstance(array, frontends.Window) else getattr(array, "base", None)
    return None


def empty_pinned(shape: Sequence[int], strides: Sequence[int], dtype: Any, device: str) -> Any:
    """Return NumPy's array in memory that a device copies by itself, with strides in elements.

    Raises ``BackendError`` for a device whose backend has no such memory.

    >>> empty_pinned((2,), (1,), "float32", "cpu")
    Traceback (most recent call last):
    dispatch_core.errors.BackendError: Backend cpu doesn't support pinned memory
    Hint: the DeviceInterface of its plugin has no part 'host_allocator'
    """
    import numpy as np  # only arrays of the host come here

    from dispatch_aten.shapes import storage_extent
    from dispatch_core import runtime

    interface = runtime.find_interface(device)
    interface.require(device, "host_allocator")
    made = np.dtype(dtype)
    nbytes = max(storage_extent(shape, strides) * made.itemsize, 1)
    memory = np.frombuffer(cast("Any", interface.host_allocator)(nbytes), np.uint8)
    # The base of every array in the memory: one of the device's own where its buffer is an array.
    owner = cast("Any", memory[:0].base)
    if id(owner) not in _COPIED_BY:
        _COPIED_BY[id(owner)] = device
        finalize(owner, _COPIED_BY.pop, id(owner), None)
    steps = tuple(stride * made.itemsize for stride in strides)
    return np.ndarray(tuple(shape), made, memory, 0, steps)
