"""Arrays in the memory of an NPU: a block of memory, a description of what lies in it, and where it begins.

``block`` is what the allocator gave, freed when the last array in it is; ``spec`` describes shape, strides and dtype as one
object for all arrays that look alike; ``storage_offset`` says at which element of the block the array begins. Views share
the block. Strides and offsets are counted in elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Self

from dispatch_aten.dtypes import BY_NAME, ScalarType
from dispatch_aten.errors import ArgumentTypeError, DtypeError
from dispatch_aten.shapes import HasSpec, TensorMeta, contiguous, contiguous_strides, is_contiguous, preserved_strides

from .runtime import allocator, memory

if TYPE_CHECKING:
    import numpy as np

__all__ = ["AclArray", "allocate_array", "empty", "from_numpy", "to_numpy"]

_new: Final = object.__new__
_NOT_NUMPYS: Final = (ScalarType.BFloat16, ScalarType.ComplexHalf)


class AclArray(HasSpec):
    """An array on an NPU. Kernels write to its elements; nothing else about it changes."""

    #: Pipelines remember arrays by weak references.
    __slots__ = ("__weakref__", "block")

    #: What the allocator gave: it has ``pointer``, and is freed when nobody holds it.
    block: allocator.MemoryBlock

    def __init__(
        self, block: allocator.MemoryBlock, shape: Sequence[int], strides: Sequence[int], offset: int, dtype: ScalarType
    ) -> None:
        self.block = block
        self.spec = TensorMeta(tuple(shape), tuple(strides), dtype)
        self.storage_offset = offset

    @property
    def offset(self) -> int:
        """At which element of its block the array begins."""
        return self.storage_offset

    @property
    def pointer(self) -> int:
        """The address where the block begins."""
        return self.block.pointer

    def view(self, shape: Sequence[int], strides: Sequence[int], offset: int) -> Self:
        """Show the same memory in another way; ``offset`` is counted from where the block begins."""
        return type(self)(self.block, shape, strides, offset, self.dtype)

    def __repr__(self) -> str:
        offset = f", storage_offset={self.storage_offset}" if self.storage_offset else ""
        return f"AclArray(shape={self.shape}, strides={self.strides}, dtype={self.dtype}{offset})"


def allocate_array(spec: TensorMeta) -> AclArray:
    """Make an array as ``spec`` describes it, in a block of its own; its elements are whatever lay there before."""
    array = _new(AclArray)
    array.block = allocator.allocate(extent(spec) * spec.dtype.itemsize)
    array.spec = spec
    array.storage_offset = 0
    return array


def empty(shape: Sequence[int], strides: Sequence[int] | None = None, dtype: ScalarType | None = None) -> AclArray:
    """Make an array whose elements are whatever lay there before; row-major unless ``strides`` are given."""
    spec = contiguous(shape, dtype)
    return allocate_array(spec if strides is None else TensorMeta(spec.shape, tuple(strides), spec.dtype))


def extent(spec: TensorMeta) -> int:
    """Give how many elements of memory lie between the array's first and its last one, both counted.

    >>> extent(TensorMeta((2, 3), (10, 1), ScalarType.Float)), extent(TensorMeta((0,), (1,), ScalarType.Float))
    (13, 0)
    """
    if not spec.numel:
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(spec.shape, spec.strides, strict=True))


def from_numpy(data: Any) -> AclArray:
    """Copy a NumPy array to the device, laid out alike where its elements fill a block of memory.

    Raises ``ArgumentTypeError`` for what is no array, ``DtypeError`` for dtypes that torch does not know.
    """
    import numpy as np  # nothing else on the way to the device needs it

    if not isinstance(data, (np.ndarray, np.generic)):
        raise ArgumentTypeError(
            f"expected np.ndarray (got {type(data).__name__})", operator="prims::device_put", argument="data"
        )
    dtype = BY_NAME.get(data.dtype.name)
    if dtype is None:
        raise DtypeError(f"an array of dtype {data.dtype} has no equivalent among torch's dtypes", argument="data")
    steps = tuple([abs(step) // data.itemsize for step in data.strides])
    # NumPy's strides say nothing where there are no elements.
    spec = TensorMeta(
        data.shape, preserved_strides(data.shape, steps if data.size else contiguous_strides(data.shape)), dtype
    )
    order = sorted(range(data.ndim), key=lambda dim: -spec.strides[dim])
    host = np.ascontiguousarray(np.transpose(data, order), data.dtype.newbyteorder("="))
    array = allocate_array(spec)
    if host.size:
        memory.copy_to_device(host, array.block.pointer)
    return array


def to_numpy(array: AclArray) -> np.ndarray[Any, Any]:
    """Copy an array to the host. One whose elements do not lie in a row comes with what lies between them.

    Raises ``DtypeError`` for ``bfloat16`` and ``complex32``, which NumPy does not have.
    """
    import numpy as np  # nothing else on the way to the device needs it

    spec = array.spec
    if spec.dtype in _NOT_NUMPYS:
        raise DtypeError(f"NumPy has no arrays of dtype {spec.dtype}", hint="convert the tensor first: .to(float32)")
    dtype = np.dtype(str(spec.dtype))
    count = extent(spec)
    if not count:
        return np.empty(spec.shape, dtype)
    host = memory.copy_to_host(array.block.pointer + array.storage_offset * dtype.itemsize, count * dtype.itemsize)
    flat = np.frombuffer(host, dtype, count)
    if is_contiguous(spec.shape, spec.strides):
        return flat.reshape(spec.shape)
    steps = [stride * dtype.itemsize for stride in spec.strides]
    return np.ndarray(spec.shape, dtype, flat, 0, steps).copy("K")
