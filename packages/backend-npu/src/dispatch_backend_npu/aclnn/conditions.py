"""Conditions of aclnn's functions on their arguments, by the documents of CANN for Atlas A2, for the table's conditions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from dispatch_aten.dtypes import ScalarType


def is_filled(array: Any) -> bool:
    """Return whether an array has elements."""
    return 0 not in array.shape


def spread(values: int | Sequence[int], count: int) -> list[int]:
    """Return a number for each of ``count`` dimensions where one stands for all; none stay none."""
    if isinstance(values, int):
        return [values] * count
    return [*values] * count if len(values) == 1 else [*values]


def is_small_convolution(
    input: Any,
    weight: Any,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> bool:
    """Return whether a convolution's images have one to three dimensions, and its numbers are within the limits."""
    count = len(weight.shape) - 2
    lists = ((stride, 63), (padding, 255), (dilation, 255), (weight.shape[2:], 255))
    return (
        1 <= count <= 3
        and is_filled(input)
        and is_filled(weight)
        and input.dtype is weight.dtype
        and groups <= 65535
        and all(len(numbers) == count and max(numbers) <= limit for numbers, limit in lists)
    )


def is_scale(sizes: Sequence[int], output_size: Sequence[int], *scales: float | None) -> bool:
    """Return whether the scales of an image's dimensions, where there are any, are those of its sizes."""
    return all(
        scale is None or size * scale == new for size, new, scale in zip(sizes[2:], output_size, scales, strict=True)
    )


def is_shrink_within(sizes: Sequence[int], output_size: Sequence[int], factor: int) -> bool:
    """Return whether no dimension of an image shrinks by more than a factor."""
    return all(size <= factor * new for size, new in zip(sizes[2:], output_size, strict=True))


def is_linear_gradient(grad_output: Any, input_size: Sequence[int]) -> bool:
    """Return whether UpsampleLinear1dBackward takes a gradient: bfloat16 keeps its length, others shrink 500 times."""
    length = input_size[2]
    if grad_output.dtype is ScalarType.BFloat16:
        return grad_output.shape[2] == length
    return grad_output.shape[2] <= 500 * length


def is_sampled(input: Any, grid: Any, interpolation_mode: int, padding_mode: int) -> bool:
    """Return whether sampling has the modes, and images have elements, fewer than 32 bits count."""
    return (
        is_filled(input)
        and is_filled(grid)
        and 0 <= interpolation_mode <= 2
        and 0 <= padding_mode <= 2
        and prod(input.shape[2:]) < 1 << 31
    )


def is_factor(weight: Any, input: Any) -> bool:
    """Return whether RmsNorm takes a weight with an input: of the same dtype, or of float32 with one of 16 bits."""
    return weight is not None and (
        weight.dtype is input.dtype or (weight.dtype is ScalarType.Float and input.dtype.itemsize == 2)
    )


def is_shift(array: Any, places: Any) -> bool:
    """Return whether a shift by a number of places is a product with, or a quotient by, a number of the same type."""
    return type(places) is int and array.dtype.is_integral and 0 <= places < 8 * array.dtype.itemsize - 1
