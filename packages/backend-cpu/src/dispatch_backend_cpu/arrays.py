"""NumPy arrays as this backend's tensors: dtypes, strides, storage, and arrays of a wanted layout.

Strides and offsets are counted in elements, as torch does. NumPy's dtypes and torch's scalar types correspond one to one;
``bfloat16`` and the 8-bit floats are ml_dtypes', imported when first needed; ``complex32`` is refused by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from math import prod
from types import SimpleNamespace
from typing import Any, Final, TypeAlias, cast

import numpy as np

from dispatch_aten.dtypes import FLOAT8, QUANTIZED, ScalarType
from dispatch_aten.errors import DtypeError, OperatorError, library_hint
from dispatch_aten.shapes import TensorMeta, contiguous_strides, iterator_strides, storage_extent

from . import memory

Array: TypeAlias = np.ndarray[Any, Any]

NUMPY_DTYPES: Final[dict[ScalarType, np.dtype[Any]]] = {
    ScalarType.Bool: np.dtype(np.bool_),
    ScalarType.Byte: np.dtype(np.uint8),
    ScalarType.Char: np.dtype(np.int8),
    ScalarType.Short: np.dtype(np.int16),
    ScalarType.Int: np.dtype(np.int32),
    ScalarType.Long: np.dtype(np.int64),
    ScalarType.UInt16: np.dtype(np.uint16),
    ScalarType.UInt32: np.dtype(np.uint32),
    ScalarType.UInt64: np.dtype(np.uint64),
    ScalarType.Half: np.dtype(np.float16),
    ScalarType.Float: np.dtype(np.float32),
    ScalarType.Double: np.dtype(np.float64),
    ScalarType.ComplexFloat: np.dtype(np.complex64),
    ScalarType.ComplexDouble: np.dtype(np.complex128),
}
SCALAR_TYPES: Final = {dtype: scalar_type for scalar_type, dtype in NUMPY_DTYPES.items()}
_EXTENDED: Final = FLOAT8 | {ScalarType.BFloat16}
FLOAT: Final = np.dtype(np.float32)
HALF: Final = np.dtype(np.float16)
NARROW: Final = {HALF}
"""The 16-bit floats: NumPy's, and ``bfloat16`` once it is loaded."""
#: Bytes of the largest element; NumPy's memory begins at a multiple.
_ALIGNMENT: Final = 16


def numpy_dtype(dtype: ScalarType) -> np.dtype[Any]:
    """Return the NumPy dtype of a scalar type.

    Raises ``DtypeError`` for ``complex32`` and quantized types, and for ``bfloat16`` and the 8-bit floats where ml_dtypes
    is missing.

    >>> numpy_dtype(ScalarType.Half)
    dtype('float16')
    """
    found = NUMPY_DTYPES.get(dtype)
    if found is None and dtype in _EXTENDED:
        _load_extended(dtype)
        found = NUMPY_DTYPES.get(dtype)
    if found is None:
        hint = "quantize_per_tensor makes such tensors" if dtype in QUANTIZED else "use float16 or float32"
        raise DtypeError(f"the cpu backend has no arrays of dtype {dtype}, because NumPy has none", hint=hint)
    return found


def _load_extended(wanted: object) -> None:
    """Import the dtypes that NumPy lacks."""
    try:
        import ml_dtypes  # few programs need it
    except ImportError as error:
        raise DtypeError(
            f"arrays of dtype {wanted} on the cpu need ml_dtypes, which is not installed",
            hint=library_hint("ml_dtypes"),
        ) from error
    for dtype in _EXTENDED:
        NUMPY_DTYPES[dtype] = np.dtype(getattr(ml_dtypes, dtype.short))
        SCALAR_TYPES[NUMPY_DTYPES[dtype]] = dtype
    NARROW.add(NUMPY_DTYPES[ScalarType.BFloat16])


def is_extended(dtype: np.dtype[Any]) -> bool:
    """Return whether a dtype is one of ml_dtypes'."""
    return SCALAR_TYPES.get(dtype) in _EXTENDED


def dtype_of(array: Array) -> ScalarType:
    """Return an array's scalar type.

    Raises ``DtypeError`` for NumPy dtypes that torch does not know.

    >>> dtype_of(np.zeros(3, np.int32))
    torchlike.int32
    """
    try:
        return SCALAR_TYPES[array.dtype]
    except KeyError:
        pass
    if array.dtype.type.__module__ == "ml_dtypes":
        _load_extended(array.dtype)
        if array.dtype in SCALAR_TYPES:
            return SCALAR_TYPES[array.dtype]
    raise DtypeError(f"a NumPy array of dtype {array.dtype} has no equivalent among torch's dtypes")


def shape_of(array: Array) -> tuple[int, ...]:
    """Return an array's shape."""
    return array.shape


def strides_of(array: Array) -> tuple[int, ...]:
    """Return an array's strides in elements.

    >>> strides_of(np.zeros((2, 3)).T)
    (1, 3)
    """
    strides = array.strides
    if 0 in strides and not array.size and array.base is None:
        # NumPy gives the empty results of its ufuncs strides of 0; torch counts a size of 0 as 1.
        return contiguous_strides(array.shape)
    itemsize = array.itemsize
    return tuple([stride // itemsize for stride in strides])


@cache
def row_major_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Return the strides in bytes of an array of this shape without gaps, row by row."""
    return tuple([stride * itemsize for stride in contiguous_strides(shape)])


def is_row_major(array: Array) -> bool:
    """Return whether an array has elements, no gaps, and the strides of row-major order, even where a size is 1."""
    if not (array.flags.c_contiguous and array.size):
        return False
    shape = array.shape
    return 1 not in shape or array.strides == row_major_strides(shape, array.itemsize)


def storage(array: Array) -> Array:
    """Return the array whose bounds are those of the storage that ``array`` is a view of.

    It is the one that owns the memory, or the window of it that was lent; see Note [Windows]
    in ``dispatch_core.arrays.lent_memory``.
    """
    base = array.base
    while isinstance(base, np.ndarray):
        array, base = base, base.base
    return array


def storage_offset_of(array: Array) -> int:
    """Return the distance, in elements, of an array's first element from its storage's first.

    >>> storage_offset_of(np.arange(6).reshape(2, 3)[1, 2:])
    5
    """
    owner = storage(array)
    if owner is array:
        return 0
    return (_address(array) - _bounds(owner)[0]) // array.itemsize


def memory_order(array: Array) -> list[int]:
    """Return the dimensions in the order of memory: the one of the widest step first.

    >>> memory_order(np.zeros((2, 3)).T)
    [1, 0]
    """
    return sorted(range(array.ndim), key=lambda dim: -array.strides[dim])


def _address(array: Array) -> int:
    return cast(int, array.__array_interface__["data"][0])


def _bounds(array: Array) -> tuple[int, int]:
    return np.lib.array_utils.byte_bounds(array)


def describe(array: Array) -> TensorMeta:
    """Describe an array for the shape rules, its storage offset left out.

    >>> describe(np.zeros((2, 1), np.float32))
    TensorMeta(shape=(2, 1), strides=(1, 1), dtype=torchlike.float32, storage_offset=0)
    """
    return TensorMeta(array.shape, strides_of(array), dtype_of(array))


def as_array(value: Any) -> Array:
    """Return a NumPy scalar as an array without dimensions, and an array as it is."""
    return value if type(value) is np.ndarray else np.asarray(value)


def coerce(value: Any) -> Any:
    """Return a NumPy scalar among a kernel's results as an array; anything else as it is."""
    return np.asarray(value) if isinstance(value, np.generic) else value


def empty_strided(shape: Sequence[int], strides: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """Make an uninitialised array with these strides, in elements.

    >>> strides_of(empty_strided((2, 3), (1, 2), np.dtype(np.float32)))
    (1, 2)
    """
    shape, strides = tuple(shape), tuple(strides)
    if strides == contiguous_strides(shape):
        size = prod(shape)
        return (
            np.empty(shape, dtype) if size * dtype.itemsize < memory.SMALL else memory.empty(size, dtype).reshape(shape)
        )
    size = storage_extent(shape, strides)
    itemsize = dtype.itemsize
    # The block is the array's base, so that the view's storage is a flat one of exactly this size.
    return np.ndarray(shape, dtype, memory.empty(size, dtype), 0, tuple(stride * itemsize for stride in strides))


def strided_view(array: Array, shape: Sequence[int], strides: Sequence[int], storage_offset: int) -> Array:
    """View the storage of ``array`` with other sizes, strides and offset, all in elements (source: ``as_strided``).

    Raises ``OperatorError`` where the view would reach beyond the storage.

    >>> strided_view(np.arange(6), (2, 2), (3, 1), 1).tolist()
    [[1, 2], [4, 5]]
    """
    owner = storage(array)
    itemsize = array.itemsize
    # NumPy does not refuse a view that reaches beyond an array of no size.
    if owner.size and owner.flags.c_contiguous and owner.itemsize == itemsize:
        steps = tuple([stride * itemsize for stride in strides])
        try:
            view: Array = np.ndarray(tuple(shape), array.dtype, owner, storage_offset * itemsize, steps)
        except (TypeError, ValueError, OverflowError):
            pass  # It reaches beyond the storage; the error is made below.
        else:
            if not array.flags.writeable:
                view.flags.writeable = False
            return view
    low, high = _bounds(owner)
    needed = (storage_offset + storage_extent(shape, strides)) * itemsize if 0 not in shape else 0
    if needed > high - low:
        raise OperatorError(
            f"setStorage: sizes {list(shape)}, strides {list(strides)}, storage offset {storage_offset}, and itemsize "
            f"{itemsize} requiring a storage size of {needed} are out of bounds for storage of size {high - low}"
        )
    byte_strides = tuple(stride * itemsize for stride in strides)
    block = owner.transpose(memory_order(owner))
    if block.flags.c_contiguous:
        if 0 in shape:
            storage_offset = min(storage_offset, block.size)
        view = np.ndarray(shape, array.dtype, block, storage_offset * itemsize, byte_strides)
    else:
        step = storage_offset - storage_offset_of(array)
        view = np.lib.stride_tricks.as_strided(array, (abs(step) + 1,), (itemsize if step > 0 else -itemsize,))[-1:]
        view = np.lib.stride_tricks.as_strided(view, shape, byte_strides)
    if not array.flags.writeable:
        view.flags.writeable = False
    return view


def reinterpret(array: Array, dtype: np.dtype[Any], shape: tuple[int, ...], byte_strides: tuple[int, ...]) -> Array:
    """View the memory from the array's first element on as elements of another dtype.

    >>> reinterpret(np.array([1 + 2j]), np.dtype(float), (1, 2), (16, 8)).tolist()
    [[1.0, 2.0]]
    """
    owner = storage(array)
    block = owner.transpose(memory_order(owner))
    if block.flags.c_contiguous:
        offset = _address(array) - _bounds(owner)[0] if array.size else 0
        view: Array = np.ndarray(shape, dtype, block, offset, byte_strides)
    else:
        view = np.lib.stride_tricks.as_strided(array[..., :0].view(dtype), shape, byte_strides)
    if not array.flags.writeable:
        view.flags.writeable = False
    return view


@lru_cache(maxsize=4096)
def _iterator_strides(
    shape: tuple[int, ...], operands: tuple[tuple[tuple[int, ...], tuple[int, ...], int], ...]
) -> tuple[int, ...]:
    metas = [
        TensorMeta(size, tuple([stride // itemsize for stride in strides]), ScalarType.Float)
        for size, strides, itemsize in operands
    ]
    return iterator_strides(shape, metas)


def match_layout(result: Array, *operands: Array) -> Array:
    """Return an element-wise result of ``operands`` with the strides that it has in torch.

    NumPy lays out results much as torch does, but where the operands differ torch follows the first one.
    """
    wanted = _iterator_strides(result.shape, tuple([(x.shape, x.strides, x.itemsize) for x in operands]))
    return with_strides(result, wanted)


def with_strides(array: Array, strides: tuple[int, ...]) -> Array:
    """Return a fresh array as it is if it has these strides, else a copy that has them."""
    if strides_of(array) == strides:
        return array
    if array.flags.c_contiguous:
        itemsize = array.itemsize
        wanted = tuple([stride * itemsize for stride in strides])
        differing = [dim for dim, size in enumerate(array.shape) if size != 1 and array.strides[dim] != wanted[dim]]
        if not differing:
            return np.ndarray(array.shape, array.dtype, array, 0, wanted)
    copy = empty_strided(array.shape, strides, array.dtype)
    np.copyto(copy, array)
    return copy


def copy_span(arrays: Sequence[Array], limit: int) -> list[Array] | None:
    """Return arrays like these in a copy of their memory, from the first element of any to the last.

    None where these are more than ``limit`` bytes.

    >>> rows = np.arange(12).reshape(3, 4)
    >>> first, last = copy_span([rows[0], rows[1, ::2]], 64)
    >>> first.tolist(), last.tolist(), last.strides
    ([0, 1, 2, 3], [4, 6], (16,))
    """
    first = arrays[0]
    if len(arrays) == 1 and first.nbytes <= limit:
        copy = first.copy("K")
        if copy.strides == first.strides:  # it has no gaps
            return [copy]
    bounds = [_bounds(array) for array in arrays if array.size] or [(0, 0)]
    low, high = min(start for start, _ in bounds), max(end for _, end in bounds)
    if high - low > limit:
        return None
    # Elements keep their alignment, whatever lies before them.
    gap = low % _ALIGNMENT
    block = np.empty(gap + high - low, np.uint8)
    if high > low:
        interface = {"shape": (high - low,), "typestr": "|u1", "data": (low, True), "version": 3}
        block[gap:] = np.asarray(SimpleNamespace(__array_interface__=interface))
    starts = [gap + _address(array) - low if array.size else 0 for array in arrays]
    return [
        np.ndarray(array.shape, array.dtype, block, start, array.strides)
        for array, start in zip(arrays, starts, strict=True)
    ]


def check_writable(array: Array, *, expanded: bool = False) -> None:
    """Check that every element of ``array`` has a place of its own, so that it may be written to.

    Raises ``OperatorError`` for read-only arrays, and for expanded ones unless ``expanded`` allows them.
    """
    if not expanded and array.base is not None and array.size:
        strides = array.strides
        if 0 in strides and any(stride == 0 and size > 1 for stride, size in zip(strides, array.shape, strict=True)):
            raise OperatorError(
                "unsupported operation: more than one element of the written-to tensor refers to a single memory "
                "location. Please clone() the tensor before performing the operation.",
                argument="self",
            )
    if not array.flags.writeable:
        raise OperatorError("cannot write to a read-only array", argument="self", hint="copy the array first")
