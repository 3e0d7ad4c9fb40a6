"""Kernels that make arrays: memory of the shape that the rule announces, filled by a function of the table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dispatch_aten.shapes import cached_rule

from .aclnn.launch import allocate_result, launch
from .arrays import AclArray

__all__ = ["KERNELS"]

Fill = Callable[..., None]


def _made(name: str, fill: Fill) -> Callable[..., AclArray]:
    """Make the kernel of a factory from ``fill(array, *args)``."""
    rule = cached_rule(name)

    def kernel(*args: Any, **kwargs: Any) -> AclArray:
        array = allocate_result(rule(*args, **kwargs))
        fill(array, *args)
        return array

    return kernel


def _nothing(array: AclArray, *args: Any) -> None:
    """Leave the memory as it came."""


def _zeros(array: AclArray, *args: Any) -> None:
    launch("aclnnInplaceZero", array)


def _ones(array: AclArray, *args: Any) -> None:
    launch("aclnnInplaceOne", array)


def _full(array: AclArray, *args: Any) -> None:
    launch("aclnnInplaceFillScalar", array, args[-1])


def _arange(array: AclArray, *bounds: Any) -> None:
    start, end, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    if array.spec.dtype.is_integral:
        # torch counts in integers here, whatever the bounds are.
        start, step = int(start), int(step)
        end = start + step * array.spec.numel
    if array.spec.numel:
        launch("aclnnArange", start, end, step, array)


def _linspace(array: AclArray, start: Any, end: Any, steps: int) -> None:
    if array.spec.dtype.is_integral:
        start, end = int(start), int(end)
    if array.spec.numel:
        launch("aclnnLinspace", start, end, steps, array)


def _eye(array: AclArray, *sizes: int) -> None:
    launch("aclnnEye", *array.spec.shape, array)


_FILLS: Final[dict[str, Fill]] = {
    "empty.memory_format": _nothing,
    "empty_strided": _nothing,
    "empty_like": _nothing,
    "new_empty": _nothing,
    "new_empty_strided": _nothing,
    "zeros": _zeros,
    "zeros_like": _zeros,
    "new_zeros": _zeros,
    "ones": _ones,
    "ones_like": _ones,
    "new_ones": _ones,
    "full": _full,
    "full_like": _full,
    "new_full": _full,
    "scalar_tensor": _full,
    "arange": _arange,
    "arange.start": _arange,
    "arange.start_step": _arange,
    "linspace": _linspace,
    "eye": _eye,
    "eye.m": _eye,
}
KERNELS: Final[dict[str, Callable[..., Any]]] = {name: _made(name, fill) for name, fill in _FILLS.items()}
