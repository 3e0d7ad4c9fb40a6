"""What the composite kernels share."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType
from dispatch_aten.promotion import Category, Number, Operand, result_type, scalar_dtype
from dispatch_aten.shapes.meta import TensorMeta

__all__ = ["Array", "as_scalar_tensor", "aten", "common_dtype", "converted", "is_number", "meta_of", "ndim", "numel_of"]

Array: TypeAlias = Any
"""A backend's array or a frontend's tensor."""

aten: Final[Any] = dc.ops.aten


def is_number(value: object) -> bool:
    """Say whether ``value`` is a Python number, as a ``Scalar`` argument is."""
    return isinstance(value, (bool, int, float, complex))


def ndim(self: Array) -> int:
    """Give the number of dimensions."""
    return len(dc.shape(self))


def numel_of(self: Array) -> int:
    """Give the number of elements."""
    count = 1
    for size in dc.shape(self):
        count *= size
    return count


def meta_of(self: Array) -> TensorMeta:
    """Describe an array for the shape rules."""
    return TensorMeta(dc.shape(self), dc.strides(self), dc.dtype(self), dc.storage_offset(self))


def common_dtype(*operands: Array | Number) -> ScalarType:
    """Give the dtype in which an element-wise operator computes on arrays and numbers."""
    return result_type(*[_operand(value) for value in operands])


def _operand(value: Array | Number) -> Operand:
    if is_number(value):
        return Operand(scalar_dtype(value), Category.WRAPPED)
    return Operand(dc.dtype(value), Category.DIMENSIONED if dc.shape(value) else Category.ZERO_DIM)


def as_scalar_tensor(value: Number, like: Array, dtype: ScalarType) -> Array:
    """Make a tensor without dimensions beside ``like``.

    An integer beyond the dtype's range wraps around, as it does where torch converts a wrapped number's tensor.
    """
    if isinstance(value, int) and not isinstance(value, bool) and dtype.is_integral:
        bits = 8 * dtype.itemsize
        if not -(1 << (bits - 1)) <= value < (1 << (bits - 1)):
            value %= 1 << bits
            if dtype.is_signed and value >> (bits - 1):
                value -= 1 << bits
    return aten.new_full.default(like, (), value, dtype=dtype)


def converted(self: Array, dtype: ScalarType) -> Array:
    """Give ``self`` in another dtype; itself where it has it already."""
    return self if dc.dtype(self) == dtype else aten._to_copy.default(self, dtype=dtype)
