"""Host memory that a device copies from by itself, so that the host can go on meanwhile (source: ``Tensor.pin_memory``)."""

from __future__ import annotations

from typing import Any

import dispatch_core as dc
from dispatch_aten import host
from dispatch_core import runtime
from dispatch_core.tracebacks import api_boundary

from ..autograd.function import Function
from ..tensors.arrays import read_elements
from ..tensors.tensor import Tensor, wrap
from ..values.argument_types import Array
from ..values.dtypes import format_type
from ..values.layouts import layout_of, strided

__all__ = ["is_pinned", "pin_memory", "upload"]


@dc.KernelTraits(is_traceable=True)
class _Pin(Function):
    """The copy to pinned memory, which pipelines and captured functions record; gradients flow through it."""

    @staticmethod
    def forward(tensor: Tensor, device: str) -> Tensor:
        made: Tensor = dc.ops.prims.pin_memory(tensor.detach(), device)
        return made

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        pass

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], tensor: Tensor, device: str) -> tuple[Tensor, Any]:
        made: Tensor = _Pin.apply(tensor, device)
        return made, in_dims[0]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        return grad, None


def _is_dense(tensor: Tensor) -> bool:
    return tensor.is_cpu and layout_of(tensor) is strided


def _of(tensor: Tensor) -> str | None:
    return host.find_pinning(read_elements(tensor)) if _is_dense(tensor) else None


@api_boundary
def pin_memory(tensor: Tensor, device: Any = None) -> Tensor:
    """Return the tensor in memory that a device copies from by itself, the tensor itself where it lies there already.

    Args:
        tensor: A tensor on the cpu. One that a pipeline has yet to compute is copied.
        device: The type of the device; the accelerator's by default.

    Raises ``RuntimeError`` for a tensor elsewhere, and where there is no accelerator, or it has no memory to pin.
    """
    if not _is_dense(tensor):
        raise RuntimeError(f"cannot pin '{format_type(tensor)}' only dense CPU tensors can be pinned")
    kind = runtime.resolve(device if isinstance(device, int) or device is None else dc.Device(device).type).type
    runtime.find_interface(kind).require(kind, "host_allocator")
    # Pending values, and rows of a batch, are no arrays.
    if host.find_pinning(tensor._dispatch_data) == kind:
        return tensor
    made: Tensor = _Pin.apply(tensor, kind)
    return made


@api_boundary
def is_pinned(tensor: Tensor, device: Any = None) -> bool:
    """Return whether the tensor lies in memory that a device copies from by itself; it is computed, where it waits.

    Args:
        tensor: The tensor.
        device: The type of the device; any by default.
    """
    found = _of(tensor)
    return found is not None and (device is None or found == dc.Device(device).type)


def upload(tensor: Tensor, target: dc.Device) -> Tensor | None:
    """Return a pinned tensor on a device that may still be copying when this returns; None where that cannot be."""
    if tensor._pending or _of(tensor) != target.type:
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
