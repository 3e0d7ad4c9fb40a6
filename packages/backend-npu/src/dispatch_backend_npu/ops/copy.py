"""Copies, conversions, and the way from the device's memory to the host and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dispatch_aten.dtypes import ScalarType
from dispatch_aten.shapes import TensorMeta, cached_rule
from dispatch_core.devices import Device

from .. import arrays
from ..aclnn.launch import allocate_result, launch
from ..arrays import AclArray

__all__ = ["KERNELS", "device_get", "device_put"]

_cloned: Final = cached_rule("clone")
_converted: Final = cached_rule("_to_copy")


def _fresh(found: TensorMeta, self: AclArray) -> AclArray:
    """Copy into new memory, laid out as a rule says."""
    array = allocate_result(found)
    if array.spec.numel:
        launch("aclnnInplaceCopy", array, self)
    return array


def _clone(self: AclArray, *, memory_format: int | None = None) -> AclArray:
    return _fresh(_cloned(self, memory_format=memory_format), self)


def _to_copy(
    self: AclArray,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
    non_blocking: bool = False,
    memory_format: int | None = None,
) -> AclArray:
    found = _converted(self, dtype=dtype, memory_format=memory_format)
    if found.dtype is self.spec.dtype:
        return _fresh(found, self)
    array = allocate_result(found)
    if array.spec.numel:
        launch("aclnnCast", self, found.dtype, array)
    return array


def _local_scalar_dense(self: AclArray) -> Any:
    """Read the only element; this waits for the device."""
    # NumPy does not have bfloat16.
    return arrays.to_numpy(
        _to_copy(self, dtype=ScalarType.Float) if self.spec.dtype is ScalarType.BFloat16 else self
    ).item()


KERNELS: Final[dict[str, Callable[..., Any]]] = {
    "clone": _clone,
    "_to_copy": _to_copy,
    "_local_scalar_dense": _local_scalar_dense,
}


def device_get(self: AclArray) -> Any:
    """Give a NumPy array of the values, copied to the host (``prims::device_get``)."""
    return arrays.to_numpy(self)


def device_put(data: Any, *, device: Device) -> AclArray:
    """Copy a NumPy array to the device (``prims::device_put``).

    Raises ``ArgumentTypeError`` for what is no array, ``DtypeError`` for dtypes that torch does not know.
    """
    if device.index is None:
        return arrays.from_numpy(data)
    from ..runtime.device import guard  # not needed where there is one device

    with guard(device.index):
        return arrays.from_numpy(data)
