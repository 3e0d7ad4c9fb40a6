"""Arrays in the memory of an NPU: a block of memory, a description, and an offset.

``block`` is the allocator's, freed with the last array in it; ``spec`` describes shape, strides and dtype, one object for
all arrays of that description; ``storage_offset`` is the element of the block where the array begins. Views share the
block. Strides and offsets count elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Self

from dispatch_aten.dtypes import BY_NAME, QUANTIZED, ScalarType
from dispatch_aten.errors import ArgumentTypeError, DtypeError
from dispatch_aten.shapes import (
    HasSpec,
    TensorMeta,
    contiguous,
    contiguous_strides,
    is_contiguous,
    preserved_strides,
    storage_extent,
)

from .runtime import allocator, memory

if TYPE_CHECKING:
    import numpy as np

_new: Final = object.__new__
_NOT_NUMPYS: Final = (ScalarType.BFloat16, ScalarType.ComplexHalf, *QUANTIZED)


class AclArray(HasSpec):
    """An array on an NPU. Only its elements change, when kernels write to them."""

    #: Pipelines hold arrays by weak references.
    __slots__ = ("__weakref__", "block")

    #: Memory that is freed with the last reference to it.
    block: allocator.MemoryBlock

    def __init__(
        self, block: allocator.MemoryBlock, shape: Sequence[int], strides: Sequence[int], offset: int, dtype: ScalarType
    ) -> None:
        self.block = block
        self.spec = TensorMeta(tuple(shape), tuple(strides), dtype)
        self.storage_offset = offset

    @property
    def offset(self) -> int:
        """The element of the block where the array begins."""
        return self.storage_offset

    @property
    def pointer(self) -> int:
        """The address of the block."""
        return self.block.pointer

    def view(self, shape: Sequence[int], strides: Sequence[int], offset: int) -> Self:
        """Return another view of the block; ``offset`` counts from the beginning of the block."""
        return type(self)(self.block, shape, strides, offset, self.dtype)

    def __repr__(self) -> str:
        offset = f", storage_offset={self.storage_offset}" if self.storage_offset else ""
        return f"AclArray(shape={self.shape}, strides={self.strides}, dtype={self.dtype}{offset})"


def array_in(block: Any, spec: TensorMeta, offset: int = 0) -> AclArray:
    """Return the array that lies in a block as ``spec`` describes it, ``offset`` elements from its beginning."""
    array = _new(AclArray)
    array.block, array.spec, array.storage_offset = block, spec, offset
    return array


def allocate_array(spec: TensorMeta) -> AclArray:
    """Allocate an array as ``spec`` describes it, in a block of its own, with undefined elements."""
    array = _new(AclArray)  # as `array_in` does, without a call
    array.block = allocator.allocate(storage_extent(spec.shape, spec.strides) * spec.dtype.itemsize)
    array.spec = spec
    array.storage_offset = 0
    return array


def empty(shape: Sequence[int], strides: Sequence[int] | None = None, dtype: ScalarType | None = None) -> AclArray:
    """Allocate an array with undefined elements, row-major unless ``strides`` are given."""
    spec = contiguous(shape, dtype)
    return allocate_array(spec if strides is None else TensorMeta(spec.shape, tuple(strides), spec.dtype))


def from_numpy(data: Any, *, waits: bool = True) -> AclArray:
    """Copy a NumPy array to the device; dense arrays keep their layout.

    Without ``waits`` the copy of an array in pinned memory is queued on the thread's current stream.
    Raises ``ArgumentTypeError`` for another object, ``DtypeError`` for dtypes that torch does not have.
    """
    import numpy as np  # the backend loads without it

    if not isinstance(data, (np.ndarray, np.generic)):
        raise ArgumentTypeError(
            f"expected np.ndarray (got {type(data).__name__})", operator="prims::device_put", argument="data"
        )
    dtype = BY_NAME.get(data.dtype.name)
    if dtype is None:
        raise DtypeError(f"an array of dtype {data.dtype} has no equivalent among torch's dtypes", argument="data")
    steps = tuple([abs(step) // data.itemsize for step in data.strides])
    # NumPy's strides are arbitrary where there are no elements.
    spec = TensorMeta(
        data.shape, preserved_strides(data.shape, steps if data.size else contiguous_strides(data.shape)), dtype
    )
    order = sorted(range(data.ndim), key=lambda dim: -spec.strides[dim])
    host = np.ascontiguousarray(np.transpose(data, order), data.dtype.newbyteorder("="))
    array = allocate_array(spec)
    if host.size and (waits or not memory.queue_to_device(host, array.block.pointer)):
        memory.copy_to_device(host, array.block.pointer)
    return array


def _extended_type(dtype: ScalarType) -> Any:
    """Return the type of ml_dtypes for one that NumPy does not have."""
    if dtype is ScalarType.BFloat16:
        with suppress(ImportError):
            import ml_dtypes  # few programs need it

            return ml_dtypes.bfloat16
    raise DtypeError(
        f"NumPy has no arrays of dtype {dtype}", hint="convert the tensor first: .to(float32); ml_dtypes has bfloat16"
    )


def to_numpy(array: AclArray) -> np.ndarray[Any, Any]:
    """Copy an array to the host; gaps between its elements are copied on the way.

    Raises ``DtypeError`` for ``complex32``, which NumPy does not have, and for ``bfloat16`` where ml_dtypes is missing.
    """
    import numpy as np  # the backend loads without it

    spec = array.spec
    dtype = np.dtype(spec.dtype.short if spec.dtype not in _NOT_NUMPYS else _extended_type(spec.dtype))
    count = storage_extent(spec.shape, spec.strides)
    if not count:
        return np.empty(spec.shape, dtype)
    host = memory.copy_to_host(array.block.pointer + array.storage_offset * dtype.itemsize, count * dtype.itemsize)
    flat = np.frombuffer(host, dtype, count)
    if is_contiguous(spec.shape, spec.strides):
        return flat.reshape(spec.shape)
    steps = [stride * dtype.itemsize for stride in spec.strides]
    return np.ndarray(spec.shape, dtype, flat, 0, steps).copy("K")
