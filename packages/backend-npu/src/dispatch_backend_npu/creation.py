"""Kernels of factories: memory as the shape rule describes it, filled by a function of aclnn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dispatch_aten.shapes import cached_rule

from .aclnn.launch import allocate_result, launch
from .arrays import AclArray

Fill = Callable[..., None]


def _make_factory(name: str, fill: Fill) -> Callable[..., AclArray]:
    """Make the kernel of a factory from ``fill(array, *args)``."""
    rule = cached_rule(name)

    def kernel(*args: Any, **kwargs: Any) -> AclArray:
        array = allocate_result(rule(*args, **kwargs))
        fill(array, *args)
        return array

    return kernel


def _leave_undefined(array: AclArray, *args: Any) -> None:
    """Leave the elements undefined."""


def _fill_zeros(array: AclArray, *args: Any) -> None:
    launch("aclnnInplaceZero", array)


def _fill_ones(array: AclArray, *args: Any) -> None:
    launch("aclnnInplaceOne", array)


def _fill_value(array: AclArray, *args: Any) -> None:
    launch("aclnnInplaceFillScalar", array, args[-1])


def _fill_range(array: AclArray, *bounds: Any) -> None:
    start, end, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    if array.spec.dtype.is_integral:
        # torch computes with integers here, whatever the types of the bounds.
        start, step = int(start), int(step)
        end = start + step * array.spec.numel
    if array.spec.numel:
        launch("aclnnArange", start, end, step, array)


def _fill_linspace(array: AclArray, start: Any, end: Any, steps: int) -> None:
    if array.spec.dtype.is_integral:
        start, end = int(start), int(end)
    if array.spec.numel:
        launch("aclnnLinspace", start, end, steps, array)


def _fill_identity(array: AclArray, *sizes: int) -> None:
    launch("aclnnEye", *array.spec.shape, array)


_FILLS: Final[dict[str, Fill]] = {
    "empty.memory_format": _leave_undefined,
    "empty_strided": _leave_undefined,
    "empty_like": _leave_undefined,
    "new_empty": _leave_undefined,
    "new_empty_strided": _leave_undefined,
    "zeros": _fill_zeros,
    "zeros_like": _fill_zeros,
    "new_zeros": _fill_zeros,
    "ones": _fill_ones,
    "ones_like": _fill_ones,
    "new_ones": _fill_ones,
    "full": _fill_value,
    "full_like": _fill_value,
    "new_full": _fill_value,
    "scalar_tensor": _fill_value,
    "arange": _fill_range,
    "arange.start": _fill_range,
    "arange.start_step": _fill_range,
    "linspace": _fill_linspace,
    "eye": _fill_identity,
    "eye.m": _fill_identity,
}
KERNELS: Final[dict[str, Callable[..., Any]]] = {name: _make_factory(name, fill) for name, fill in _FILLS.items()}
