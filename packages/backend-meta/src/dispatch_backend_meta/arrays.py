"""Arrays without data: a description (shape, strides, dtype, storage offset), and the array whose memory they share.

>>> from dispatch_aten.dtypes import float32
>>> a = MetaArray.empty((2, 3), float32)
>>> a
MetaArray(shape=(2, 3), strides=(3, 1), dtype=float32)
>>> a.shares_storage_with(MetaArray.empty((2, 3), float32))
False
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from dispatch_aten.dtypes import BY_NAME, ScalarType
from dispatch_aten.errors import ArgumentTypeError, DtypeError, MetaDataError
from dispatch_aten.shapes import HasSpec, TensorMeta, contiguous, contiguous_strides, preserved_strides

_new = object.__new__


class MetaArray(HasSpec):
    """An immutable array without data (source: torch's ``meta`` device), compared by identity.

    ``spec`` is its description, one object for all arrays of that description. It begins at ``storage_offset`` in the memory
    of ``owner``, the array of which it is a view, None for one that is not a view. It has no further attributes,
    because a call on meta mostly consists of creating one.
    """

    __slots__ = ("owner",)

    owner: MetaArray | None

    def __init__(
        self,
        shape: Sequence[int],
        strides: Sequence[int],
        dtype: ScalarType,
        storage_offset: int = 0,
        storage: MetaArray | None = None,
    ) -> None:
        self.spec = TensorMeta(tuple(shape), tuple(strides), dtype)
        self.storage_offset = storage_offset
        self.owner = storage

    @classmethod
    def empty(cls, shape: Sequence[int], dtype: ScalarType) -> Self:
        """Make a row-major array in a storage of its own."""
        return cls.from_spec(contiguous(shape, dtype))

    @classmethod
    def from_spec(cls, spec: TensorMeta, base: MetaArray | None = None) -> Self:
        """Make the array that a cached rule describes, as a view of ``base`` or in a storage of its own."""
        array = _new(cls)
        array.spec = spec.at_start()
        begin = 0 if base is None else base.storage_offset
        if begin and base is not None and base.spec.dtype is not spec.dtype:
            # It counts elements of the base's dtype.
            begin = begin * base.spec.dtype.itemsize // spec.dtype.itemsize
        array.storage_offset = begin + spec.storage_offset
        array.owner = None if base is None else base.storage
        return array

    @property
    def storage(self) -> MetaArray:
        """The first array in the memory that this array and its views would share; it represents that memory."""
        return self.owner or self

    def shares_storage_with(self, other: MetaArray) -> bool:
        """Return whether the two are views of one storage."""
        return self.storage is other.storage

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise no_data_error("__array__")

    def __repr__(self) -> str:
        offset = f", storage_offset={self.storage_offset}" if self.storage_offset else ""
        return f"MetaArray(shape={self.shape}, strides={self.strides}, dtype={self.dtype}{offset})"


def no_data_error(operator: str) -> MetaDataError:
    """Return the error of an operator that reads values.

    >>> print(no_data_error("aten::item"))
    Cannot copy out of meta tensor; no data! (aten::item)
    """
    return MetaDataError("Cannot copy out of meta tensor; no data!", operator=operator)


def describe_array(data: Any) -> MetaArray:
    """Describe a NumPy array, or an object with its ``shape``, ``strides`` (in bytes), ``itemsize`` and ``dtype``.

    Raises ``ArgumentTypeError`` for another object, ``DtypeError`` for dtypes that torch does not have.
    """
    try:
        shape, steps, itemsize, name = data.shape, data.strides, data.itemsize, data.dtype.name
    except AttributeError:
        raise ArgumentTypeError(
            f"expected np.ndarray (got {type(data).__name__})", operator="prims::device_put", argument="data"
        ) from None
    dtype = BY_NAME.get(name)
    if dtype is None:
        raise DtypeError(f"an array of dtype {name} has no equivalent among torch's dtypes", argument="data")
    strides = tuple(abs(step) // itemsize for step in steps)
    if (
        0 in shape and 0 in strides
    ):  # NumPy gives some arrays without elements strides of 0; torch counts a size of 0 as 1
        strides = contiguous_strides(tuple(shape))
    return MetaArray(tuple(shape), preserved_strides(tuple(shape), strides), dtype)
