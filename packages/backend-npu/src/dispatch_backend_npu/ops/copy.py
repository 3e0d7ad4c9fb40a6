"""Copies, conversions, and the way from the device's memory to the host and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dispatch_aten.dtypes import ScalarType
from dispatch_aten.shapes import TensorMeta, cached_rule
from dispatch_core import Device

from .. import arrays
from ..aclnn.launch import allocate_result, launch
from ..arrays import AclArray
from ..runtime.device import guard

_clone_rule: Final = cached_rule("clone")
_to_copy_rule: Final = cached_rule("_to_copy")


def _copy_as(spec: TensorMeta, self: AclArray) -> AclArray:
    """Copy into new memory, laid out as ``spec`` describes."""
    array = allocate_result(spec)
    if array.spec.numel:
        launch("aclnnInplaceCopy", array, self)
    return array


def _clone(self: AclArray, *, memory_format: int | None = None) -> AclArray:
    return _copy_as(_clone_rule(self, memory_format=memory_format), self)


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
    spec = _to_copy_rule(self, dtype=dtype, memory_format=memory_format)
    if spec.dtype is self.spec.dtype:
        return _copy_as(spec, self)
    array = allocate_result(spec)
    if array.spec.numel:
        launch("aclnnCast", self, spec.dtype, array)
    return array


def _local_scalar_dense(self: AclArray) -> Any:
    """Return the only element, after waiting for the device."""
    # NumPy does not have bfloat16.
    return arrays.to_numpy(
        _to_copy(self, dtype=ScalarType.Float) if self.spec.dtype is ScalarType.BFloat16 else self
    ).item()


def _device_get(self: AclArray) -> Any:
    """Return a NumPy array of the values, copied to the host (``prims::device_get``)."""
    return arrays.to_numpy(self)


def _device_put(data: Any, *, device: Device) -> AclArray:
    """Copy a NumPy array to the device (``prims::device_put``).

    Raises ``ArgumentTypeError`` for another object, ``DtypeError`` for dtypes that torch does not have.
    """
    if device.index is None:
        return arrays.from_numpy(data)
    with guard(device.index):
        return arrays.from_numpy(data)


KERNELS: Final[dict[str, Callable[..., Any]]] = {
    "clone": _clone,
    "_to_copy": _to_copy,
    "_local_scalar_dense": _local_scalar_dense,
}
PRIMS: Final[dict[str, Callable[..., Any]]] = {"device_get": _device_get, "device_put": _device_put}
