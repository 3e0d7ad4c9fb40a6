"""Copies, conversions, and the way from the device's memory to the host and back."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

from dispatch_aten.dtypes import ScalarType
from dispatch_aten.shapes import TensorMeta, cached_rule, preserved_strides
from dispatch_core import Device

from .. import arrays
from ..aclnn.launch import allocate_result, launch
from ..aclnn.row_kernels import operator_row
from ..arrays import AclArray
from ..runtime import memory
from ..runtime.device import guard
from ..runtime.event import Event
from ..runtime.peers import connect

_clone_rule: Final = cached_rule("clone")
_to_copy_rule: Final = cached_rule("_to_copy")


#: Types that no function takes → those of their size, by which their bits are copied.
_SIGNED: Final = {
    ScalarType.UInt16: ScalarType.Short,
    ScalarType.UInt32: ScalarType.Int,
    ScalarType.UInt64: ScalarType.Long,
}


def _as_signed(array: AclArray) -> AclArray:
    """Return an array that functions copy: itself, or one of the same bits and memory."""
    signed = _SIGNED.get(array.spec.dtype)
    if signed is None:
        return array
    spec = TensorMeta(array.spec.shape, array.spec.strides, signed)
    return arrays.array_in(array.block, spec, array.storage_offset)


def _copy_as(spec: TensorMeta, self: AclArray) -> AclArray:
    """Copy into new memory, laid out as ``spec`` describes."""
    array = allocate_result(spec)
    if array.spec.numel:
        launch("aclnnInplaceCopy", _as_signed(array), _as_signed(self))
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


def _copy_inplace(self: AclArray, src: AclArray, non_blocking: bool = False) -> AclArray:
    """Copy into an array, also from one of another device.

    The core orders the current streams of both devices around the call; work of this kernel on the source's stream is
    waited for here.
    """
    here, there = self.block.device, src.block.device
    if here != there and self.spec.numel:
        if not connect(here, there):
            with guard(there):
                values = arrays.to_numpy(src)
            src = arrays.from_numpy(values)
        elif self.spec == src.spec and _is_dense(self.spec):
            _copy_between(self, src)
            return self
        else:
            src = _bring(src)
    if self.spec.dtype in _SIGNED and src.spec.dtype is self.spec.dtype:
        _row_kernel()(_as_signed(self), _as_signed(src), non_blocking)
        return self
    return _row_kernel()(self, src, non_blocking)


@cache
def _row_kernel() -> Callable[..., AclArray]:
    return operator_row("copy_").make_kernel()


def _bring(array: AclArray) -> AclArray:
    """Return a copy of another device's array on the thread's device."""
    if not _is_dense(array.spec):
        with guard(array.block.device):
            array = _clone(array)
            packed = Event()
            packed.record()
        packed.wait()
    made = arrays.allocate_array(array.spec)
    _copy_between(made, array)
    return made


def _copy_between(made: AclArray, array: AclArray) -> None:
    size = array.spec.dtype.itemsize
    source, target = (each.pointer + each.storage_offset * size for each in (array, made))
    memory.copy_on_device(target, source, array.spec.numel * size)


def _is_dense(spec: TensorMeta) -> bool:
    return spec.strides == preserved_strides(spec.shape, spec.strides)


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
    "copy_": _copy_inplace,
    "_local_scalar_dense": _local_scalar_dense,
}
PRIMS: Final[dict[str, Callable[..., Any]]] = {"device_get": _device_get, "device_put": _device_put}
