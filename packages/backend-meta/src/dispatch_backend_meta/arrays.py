"""Arrays without data: shape, strides, dtype, storage offset, and the identity of the storage they would lie in.

>>> from dispatch_aten.dtypes import float32
>>> a = MetaArray.fresh((2, 3), float32)
>>> a
MetaArray(shape=(2, 3), strides=(3, 1), dtype=float32)
>>> a.shares_storage_with(MetaArray.fresh((2, 3), float32))
False
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from dispatch_aten.dtypes import BY_NAME, ScalarType
from dispatch_aten.errors import ArgumentTypeError, DtypeError, MetaDataError, OperatorError
from dispatch_aten.shapes import TensorMeta, contiguous_strides, preserved_strides

__all__ = ["MetaArray", "Storage", "check_writable", "like_array", "no_data"]


class Storage:
    """The identity of the memory that an array and its views would share."""

    __slots__ = ()


class MetaArray(TensorMeta):
    """An array without data (source: torch's ``meta`` device). Immutable; two arrays are equal only if they are the same.

    It is a ``TensorMeta``, so shape rules take it as it is.
    """

    __slots__ = ("storage",)

    storage: Storage

    def __init__(
        self,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        dtype: ScalarType,
        storage_offset: int = 0,
        storage: Storage | None = None,
    ) -> None:
        super().__init__(shape, strides, dtype, storage_offset)
        object.__setattr__(self, "storage", Storage() if storage is None else storage)

    @classmethod
    def fresh(cls, shape: Sequence[int], dtype: ScalarType) -> Self:
        """Make a row-major array in a storage of its own."""
        return cls(tuple(shape), contiguous_strides(tuple(shape)), dtype)

    @classmethod
    def of(cls, meta: TensorMeta, storage: Storage | None = None) -> Self:
        """Make the array that a shape rule describes, in ``storage`` or in one of its own."""
        return cls(meta.shape, meta.strides, meta.dtype, meta.storage_offset if storage is not None else 0, storage)

    def shares_storage_with(self, other: MetaArray) -> bool:
        """Say whether the two are views of one storage."""
        return self.storage is other.storage

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise no_data("__array__")

    def __repr__(self) -> str:
        offset = f", storage_offset={self.storage_offset}" if self.storage_offset else ""
        return f"MetaArray(shape={self.shape}, strides={self.strides}, dtype={self.dtype}{offset})"

    __eq__ = object.__eq__
    __hash__ = object.__hash__


def no_data(operator: str) -> MetaDataError:
    """Make the error for whoever asks for the values.

    >>> print(no_data("aten::item"))
    Cannot copy out of meta tensor; no data! (aten::item)
    """
    return MetaDataError("Cannot copy out of meta tensor; no data!", operator=operator)


def like_array(data: Any) -> MetaArray:
    """Describe a NumPy array, or whatever has its ``shape``, ``strides`` (in bytes), ``itemsize`` and ``dtype``.

    Raises ``ArgumentTypeError`` for what has none of these, ``DtypeError`` for dtypes that torch does not know.
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
    return MetaArray(tuple(shape), preserved_strides(tuple(shape), strides), dtype)


def check_writable(array: TensorMeta) -> None:
    """Check that every element has a place of its own, as torch does before it writes.

    Raises ``OperatorError`` for expanded arrays.
    """
    if (
        0 in array.strides
        and array.numel
        and any(stride == 0 and size > 1 for stride, size in zip(array.strides, array.shape, strict=True))
    ):
        raise OperatorError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation.",
            argument="self",
        )
