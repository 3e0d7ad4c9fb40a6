"""The device-free description of a tensor that shape rules take and return.

Note [Descriptions are interned]
    There is one ``TensorMeta`` for each distinct description, for as long as it is referenced. So two that are equal are
    one object, comparing and hashing them costs nothing, and the answers of shape rules are kept by it (``cached_rule``).
    The numbers in a description are Python's own ints, also where the first caller passed others: all callers that ask for
    an equal one get it, and ``True`` equals 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any, Final, final
from weakref import WeakValueDictionary

from dispatch_aten.dtypes import ScalarType, get_default_dtype
from dispatch_aten.errors import ArgumentTypeError, OperatorError
from dispatch_core.forks import Order, forkable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@final
@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False, init=False)
class TensorMeta:
    """A tensor's shape, strides (in elements), dtype and storage offset (in elements), without its data.

    >>> from dispatch_aten.dtypes import float32
    >>> TensorMeta((2, 3), (3, 1), float32).numel
    6
    >>> TensorMeta((2, 3), (3, 1), float32) is TensorMeta((2, 3), (3, 1), float32)
    True
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: ScalarType
    storage_offset: int = 0
    #: The number of dimensions.
    ndim: int = field(init=False, repr=False)
    #: The number of elements.
    numel: int = field(init=False, repr=False)
    _start: TensorMeta | None = field(init=False, repr=False)

    def __new__(
        cls, shape: tuple[int, ...], strides: tuple[int, ...], dtype: ScalarType, storage_offset: int = 0
    ) -> TensorMeta:
        """Return the one object for this description (see Note [Descriptions are interned])."""
        key = (shape, strides, dtype, storage_offset)
        found = _known.get(key)
        if found is None:
            with _lock:
                found = _known.get(key)
                if found is None:
                    found = _known[key] = _make(cls, *key)
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorMeta, (self.shape, self.strides, self.dtype, self.storage_offset)

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements lie in memory in row-major order without gaps."""
        return is_contiguous(self.shape, self.strides)

    def with_dtype(self, dtype: ScalarType) -> TensorMeta:
        """Return the same layout with another dtype."""
        return TensorMeta(self.shape, self.strides, dtype, self.storage_offset)

    def at_start(self) -> TensorMeta:
        """Return the same layout at the start of a storage."""
        return self._start or self


_set = object.__setattr__
#: Sizes, strides and bytes are counted in 64 bits with a sign, as in torch.
_BEYOND: Final = 1 << 63
_known: Final[WeakValueDictionary[Any, TensorMeta]] = WeakValueDictionary()
#: Held while a description is made; a finalizer that runs meanwhile may make another.
_lock: Final = forkable(Order.TABLE)


def _make(
    cls: type[TensorMeta], shape: tuple[int, ...], strides: tuple[int, ...], dtype: ScalarType, storage_offset: int
) -> TensorMeta:
    made = object.__new__(cls)
    if not isinstance(dtype, ScalarType):
        raise ArgumentTypeError(f"expected a {ScalarType.__name__}, but got {type(dtype).__name__}")
    shape, strides = tuple(map(int, shape)), tuple(map(int, strides))
    if max(strides, default=0) >= _BEYOND:
        raise OperatorError("Stride calculation overflowed")
    if prod(shape) * dtype.itemsize >= _BEYOND or max((*shape, storage_offset), default=0) >= _BEYOND:
        raise OperatorError(f"Storage size calculation overflowed with sizes={list(shape)}")
    _set(made, "shape", shape)
    _set(made, "strides", strides)
    _set(made, "dtype", dtype)
    _set(made, "storage_offset", int(storage_offset))
    _set(made, "ndim", len(shape))
    _set(made, "numel", prod(shape))
    _set(made, "_start", TensorMeta(shape, strides, dtype) if storage_offset else None)
    return made


def contiguous(shape: Sequence[int], dtype: ScalarType | None = None) -> TensorMeta:
    """Describe a fresh row-major tensor; without a dtype it has the default one.

    >>> contiguous([2, 3])
    TensorMeta(shape=(2, 3), strides=(3, 1), dtype=torchlike.float32, storage_offset=0)
    """
    shape = tuple(shape)
    return TensorMeta(shape, contiguous_strides(shape), get_default_dtype() if dtype is None else dtype)


@lru_cache(maxsize=4096)
def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return row-major strides; a dimension of size 0 counts as 1, as in torch.

    >>> contiguous_strides((2, 3, 4)), contiguous_strides((2, 0, 4))
    ((12, 4, 1), (4, 4, 1))
    """
    return dense_strides(shape, range(len(shape) - 1, -1, -1))


def dense_strides(shape: tuple[int, ...], order: Iterable[int]) -> tuple[int, ...]:
    """Return strides without gaps, with the dimensions in this order from the innermost one; size 0 counts as 1."""
    strides = [0] * len(shape)
    step = 1
    for dim in order:
        strides[dim] = step
        step *= max(shape[dim], 1)
    return tuple(strides)


def storage_extent(shape: Sequence[int], strides: Sequence[int]) -> int:
    """Return how many elements of its storage a view spans, from its first to its last one.

    >>> storage_extent((2, 3), (10, 1)), storage_extent((0,), (1,))
    (13, 0)
    """
    return 0 if 0 in shape else 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))


def check_storage(meta: TensorMeta, elements: int) -> None:
    """Raise ``OperatorError`` where a view reaches beyond a storage of so many elements (source: torch's ``setStorage``).

    >>> check_storage(TensorMeta((2, 3), (3, 1), ScalarType.Float), 6)
    """
    needed = meta.storage_offset + storage_extent(meta.shape, meta.strides)
    if meta.numel and needed > elements:
        itemsize = meta.dtype.itemsize
        raise OperatorError(
            f"setStorage: sizes {list(meta.shape)}, strides {list(meta.strides)}, storage offset {meta.storage_offset}, and"
            f" itemsize {itemsize} requiring a storage size of {needed * itemsize} are out of bounds for storage of size"
            f" {elements * itemsize}",
            operator="aten::as_strided",
            argument="size",
        )


def is_contiguous(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Return whether the layout is row-major; strides of dimensions of size 1 do not matter.

    >>> is_contiguous((2, 1, 3), (3, 77, 1)), is_contiguous((2, 3), (1, 2))
    (True, False)
    """
    return (
        strides == contiguous_strides(shape) or 0 in shape or _is_dense(shape, strides, range(len(shape) - 1, -1, -1))
    )


def _is_dense(shape: tuple[int, ...], strides: tuple[int, ...], order: Iterable[int]) -> bool:
    """Return whether the layout has no gaps, with the dimensions in this order from the innermost one."""
    step = 1
    for dim in order:
        if shape[dim] != 1:
            if strides[dim] != step:
                return False
            step *= shape[dim]
    return True


def is_channels_last(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Return whether a 4-d or 5-d layout is dense with the second dimension innermost (``torch.channels_last``)."""
    ndim = len(shape)
    return ndim in (4, 5) and 0 not in shape and _is_dense(shape, strides, _channels_last_order(ndim))


def suggests_channels_last(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Return whether the strides are ordered as in ``torch.channels_last``, dense or not (torch's suggested format)."""
    if len(shape) not in (4, 5) or strides[1] == 0:
        return False
    least = 0
    for dim in _channels_last_order(len(shape)):
        # A first dimension that lies where the second does is ambiguous; torch takes it for row-major.
        if shape[dim] == 0 or strides[dim] < least or (dim == 0 and least == strides[1]):
            return False
        least = strides[dim] * max(shape[dim], 1)
    return True


def channels_last_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return dense strides with the second dimension innermost."""
    return dense_strides(shape, _channels_last_order(len(shape)))


def _channels_last_order(ndim: int) -> tuple[int, ...]:
    return (1, *range(ndim - 1, 1, -1), 0)


def is_non_overlapping_and_dense(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Return whether the elements fill a block of memory, each place once, in any order of dimensions.

    >>> is_non_overlapping_and_dense((2, 3), (1, 2)), is_non_overlapping_and_dense((2, 3), (0, 1))
    (True, False)
    """
    return is_contiguous(shape, strides) or _is_dense(
        shape, strides, sorted(range(len(shape)), key=strides.__getitem__)
    )


def same_places(
    shape: tuple[int, ...], strides: tuple[int, ...], other_shape: tuple[int, ...], other_strides: tuple[int, ...]
) -> bool:
    """Return whether two arrays that begin at one place have the same elements in the same order.

    Strides along dimensions of one element, and whether there are such dimensions, make no difference.

    >>> same_places((1, 2), (2, 1), (2,), (1,)), same_places((2, 2), (2, 1), (2, 2), (1, 2))
    (True, False)
    """
    return [each for each in zip(shape, strides, strict=True) if each[0] != 1] == [
        each for each in zip(other_shape, other_strides, strict=True) if each[0] != 1
    ]
