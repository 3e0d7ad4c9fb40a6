"""The device's arrays: a shape, strides and an offset in a flat buffer, which views share."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from dispatch_aten.dtypes import BY_NAME, ScalarType
from dispatch_aten.shapes import TensorMeta

Values: TypeAlias = np.ndarray[Any, Any]


class Array:
    """An array on the device; strides and offset count elements."""

    __slots__ = ("buffer", "offset", "shape", "strides")

    def __init__(self, buffer: Values, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> None:
        self.buffer, self.shape, self.strides, self.offset = buffer, tuple(shape), tuple(strides), offset

    @property
    def dtype(self) -> ScalarType:
        """The operator library's name for the elements' type."""
        return BY_NAME[self.buffer.dtype.name]

    @property
    def meta(self) -> TensorMeta:
        """The array's description, the argument of shape rules."""
        return TensorMeta(self.shape, self.strides, self.dtype, self.offset)

    @property
    def values(self) -> Values:
        """The elements, in the device's memory."""
        return _strided_view(self.buffer, self.shape, self.strides, self.offset)


def _strided_view(buffer: Values, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Values:
    if 0 in shape:  # an empty view may begin where the buffer ends
        return np.empty(shape, buffer.dtype)
    size = buffer.itemsize
    return np.ndarray(shape, buffer.dtype, buffer, offset * size, tuple(stride * size for stride in strides))


def store(values: Any, meta: TensorMeta) -> Array:
    """Copy values into a new array with the strides and dtype that a shape rule describes."""
    reach = 1 + sum((size - 1) * stride for size, stride in zip(meta.shape, meta.strides, strict=True))
    buffer = np.zeros(reach if meta.numel else 0, meta.dtype.short)
    _strided_view(buffer, meta.shape, meta.strides, 0)[...] = values
    return Array(buffer, meta.shape, meta.strides)
