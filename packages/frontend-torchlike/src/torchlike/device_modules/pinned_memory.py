"""Host memory that a device copies from by itself, so that the host can go on meanwhile (source: ``Tensor.pin_memory``)."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

import dispatch_core as dc
from dispatch_core import runtime
from dispatch_core.tracebacks import api_boundary

from ..tensors.arrays import put, read_elements
from ..tensors.tensor import Tensor, wrap
from ..values.argument_types import Array
from ..values.dtypes import format_type
from ..values.layouts import layout_of, strided

__all__ = ["is_pinned", "pin_memory", "upload"]


class PinnedMemory(np.ndarray[Any, Any]):
    """The bytes of one allocation, the base of the arrays in it; ``copied_by`` is the type of the device that copies it."""

    copied_by: str


def _find_memory(array: Any) -> PinnedMemory | None:
    """Return the pinned memory that an array lies in, None for one elsewhere."""
    while isinstance(array, np.ndarray):
        if isinstance(array, PinnedMemory) and hasattr(array, "copied_by"):
            return array
        array = array.base
    return None


def _of(tensor: Tensor) -> PinnedMemory | None:
    is_plain = tensor.is_cpu and layout_of(tensor) is strided and not tensor._pending
    return _find_memory(read_elements(tensor)) if is_plain else None


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
    found = _of(tensor)
    if found is not None and found.copied_by == kind:
        return tensor
    interface = runtime.find_interface(kind)
    interface.require(kind, "host_allocator")
    source = read_elements(tensor)
    memory = np.frombuffer(cast("Any", interface.host_allocator)(max(source.nbytes, 1)), np.uint8).view(PinnedMemory)
    memory.copied_by = kind
    # The elements keep their order, without gaps.
    order = sorted(range(source.ndim), key=lambda dim: -abs(source.strides[dim]))
    flat = memory[: source.nbytes].view(np.ndarray).view(source.dtype)
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
    return found is not None and (device is None or found.copied_by == dc.Device(device).type)


def upload(tensor: Tensor, target: dc.Device) -> Tensor | None:
    """Return a pinned tensor on a device that may still be copying when this returns; None where that cannot be."""
    memory = _of(tensor)
    if memory is None or memory.copied_by != target.type:
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
