"""Host memory that a device copies from by itself, so that the host can go on meanwhile (source: ``Tensor.pin_memory``)."""

from __future__ import annotations

from typing import Any, Final, cast
from weakref import finalize

import numpy as np

import dispatch_core as dc
from dispatch_core import frontends, runtime
from dispatch_core.tracebacks import api_boundary

from ..tensors.arrays import put, read_elements
from ..tensors.tensor import Tensor, wrap
from ..values.argument_types import Array
from ..values.dtypes import format_type
from ..values.layouts import layout_of, strided

__all__ = ["is_pinned", "pin_memory", "upload"]


#: The id of the array that has the memory of allocations → the type of the device that copies it.
_COPIED_BY: Final[dict[int, str]] = {}


def _of_array(array: Any) -> str | None:
    """Return the type of the device that copies the memory of an array by itself, None for other memory."""
    while isinstance(array, np.ndarray | frontends.Window):
        found = _COPIED_BY.get(id(array))
        if found is not None:
            return found
        array = array.array if isinstance(array, frontends.Window) else array.base
    return None


def _of(tensor: Tensor) -> str | None:
    is_plain = tensor.is_cpu and layout_of(tensor) is strided and not tensor._pending
    return _of_array(read_elements(tensor)) if is_plain else None


@api_boundary
def pin_memory(tensor: Tensor, device: Any = None) -> Tensor:
    """Return the tensor in memory that a device copies from by itself, the tensor itself where it lies there already.

    Args:
        tensor: A tensor on the cpu.
        device: The type of the device; the accelerator's by default.

    Raises ``RuntimeError`` for a tensor elsewhere, and where there is no accelerator, or it has no memory to pin.
    """
    kind = runtime.resolve(device if isinstance(device, int) or device is None else dc.Device(device).type).type
    if not tensor.is_cpu or layout_of(tensor) is not strided:
        raise RuntimeError(f"cannot pin '{format_type(tensor)}' only dense CPU tensors can be pinned")
    if _of(tensor) == kind:
        return tensor
    interface = runtime.find_interface(kind)
    interface.require(kind, "host_allocator")
    source = read_elements(tensor)
    memory = np.frombuffer(cast("Any", interface.host_allocator)(max(source.nbytes, 1)), np.uint8)
    # The base of every array in the memory: one of the device's own where its buffer is an array.
    owner = cast("Any", memory[:0].base)
    if id(owner) not in _COPIED_BY:
        _COPIED_BY[id(owner)] = kind
        finalize(owner, _COPIED_BY.pop, id(owner), None)
    # The elements keep their order, without gaps.
    order = sorted(range(source.ndim), key=lambda dim: -abs(source.strides[dim]))
    flat = memory[: source.nbytes].view(source.dtype)
    made = flat.reshape([source.shape[dim] for dim in order]).transpose(np.argsort(order))
    made[...] = source
    return put(made, "cpu")


@api_boundary
def is_pinned(tensor: Tensor, device: Any = None) -> bool:
    """Return whether the tensor lies in memory that a device copies from by itself.

    Args:
        tensor: The tensor.
        device: The type of the device; any by default.
    """
    found = _of(tensor)
    return found is not None and (device is None or found == dc.Device(device).type)


def upload(tensor: Tensor, target: dc.Device) -> Tensor | None:
    """Return a pinned tensor on a device that may still be copying when this returns; None where that cannot be."""
    if _of(tensor) != target.type:
        return None
    interface = runtime.find_interface(target.type)
    if interface.upload is None:
        return None
    place = runtime.resolve(target)
    index = place.index or 0
    runtime.open_device(place)
    array: Array = read_elements(tensor)
    with runtime.OnDevice(interface, index):
        return wrap(interface.upload(array, index))
