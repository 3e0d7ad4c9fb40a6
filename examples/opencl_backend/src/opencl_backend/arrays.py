"""The device's arrays: a description, and the block of memory that views share."""

from __future__ import annotations

from dispatch_aten.errors import DtypeError
from dispatch_aten.shapes import HasSpec, TensorMeta

from .ctypes import C_TYPES
from .driver import current_device
from .memory import Block


class Array(HasSpec):
    """An array on a device; strides and offset count elements."""

    __slots__ = ("__weakref__", "block")

    def __init__(self, block: Block, meta: TensorMeta) -> None:
        # Shape rules keep their answers by `spec`, which therefore tells nothing of the place in the block.
        self.block, self.spec, self.storage_offset = block, meta.at_start(), meta.storage_offset


def check_dtype(spec: TensorMeta) -> None:
    """Raise ``DtypeError`` for a dtype that OpenCL C has no type for."""
    if str(spec.dtype) not in C_TYPES:
        raise DtypeError(f"opencl has no arrays of {spec.dtype}")


def empty(spec: TensorMeta, index: int | None = None) -> Array:
    """Return a new array with the strides and dtype that a shape rule describes, by default on the thread's device."""
    check_dtype(spec)
    reach = 1 + sum((size - 1) * stride for size, stride in zip(spec.shape, spec.strides, strict=True))
    nbytes = reach * spec.dtype.itemsize if spec.numel else 0
    return Array(Block(nbytes, current_device() if index is None else index), spec)
