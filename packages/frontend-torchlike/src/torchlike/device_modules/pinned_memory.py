"""Host memory that a device copies from by itself, so that the host can go on meanwhile (source: ``Tensor.pin_memory``)."""

from __future__ import annotations

from typing import Any

import dispatch_core as dc
from dispatch_aten import host
from dispatch_aten.shapes import contiguous
from dispatch_core import frontends, runtime
from dispatch_core.tracebacks import api_boundary

from ..autograd.function import Function
from ..tensors.arrays import is_recording, read_elements
from ..tensors.tensor import Tensor, wrap
from ..values.argument_types import Array
from ..values.dtypes import format_type, to_numpy_dtype
from ..values.layouts import layout_of, strided

__all__ = ["download", "download_to", "is_pinned", "pin_memory", "upload"]


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
    """Return a pinned tensor on a device that may still be copying when this returns; None where that cannot be.

    The device copies row-major arrays, but for one with gaps; the tensor's dimensions keep their order.
    """
    if _of(tensor) != target.type:
        return None
    array: Array = read_elements(tensor)
    order = sorted(range(array.ndim), key=lambda dim: -array.strides[dim])
    turned = array.transpose(order)
    is_turned = turned.flags.c_contiguous and not array.flags.c_contiguous
    made = runtime.upload(turned if is_turned else array, runtime.resolve(target))
    if made is None or not is_turned:
        return None if made is None else wrap(made)
    return wrap(dc.ops.aten.permute.default(made, [order.index(dim) for dim in range(array.ndim)]))


def download(tensor: Tensor) -> Tensor | None:
    """Return a device's tensor in pinned memory that may still be copied when this returns; None where that cannot be.

    Its dimensions lie in memory in the same order.
    """
    kind, strides = tensor.device.type, tensor.stride() if dc.has_strides(tensor) else ()
    parts = runtime.find_interface(kind)
    if parts.download is None or parts.host_allocator is None or not tensor.numel():
        return None
    try:
        dtype = to_numpy_dtype(tensor.dtype)
    except TypeError:
        return None
    order = sorted(range(len(strides)), key=lambda dim: -strides[dim]) if strides else list(range(tensor.dim()))
    source = tensor.permute(order).contiguous()
    spec = contiguous(source.shape, source.dtype)
    values = host.empty_pinned(spec.shape, spec.strides, dtype, kind)
    if not runtime.download(frontends.materialize(source), values, tensor.device):
        return None
    back = sorted(range(len(order)), key=order.__getitem__)
    return wrap(values.transpose(back))


def download_to(target: Tensor, tensor: Tensor) -> bool:
    """Copy a device's tensor to a pinned one, which may still be written to afterwards; return whether that can be."""
    is_plain = (
        target.is_contiguous() and target.shape == tensor.shape and target.dtype is tensor.dtype and target.numel()
    )
    if not is_plain or is_recording(target) or target.requires_grad or tensor.requires_grad:
        return False
    values = target._dispatch_data
    if type(target) is not Tensor or host.find_pinning(values) != tensor.device.type:
        return False
    if not runtime.download(frontends.materialize(tensor.contiguous()), values, tensor.device):
        return False
    target._count_write()
    return True
