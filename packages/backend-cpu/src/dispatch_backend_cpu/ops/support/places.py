"""Where the elements that indices name lie, and whether there are any.

``argmin`` and ``argmax`` start ten times as fast as the folds of a ufunc, so the least index is looked up by its place.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any, Final

import numpy as np

from dispatch_aten.errors import DimensionError, OperatorError
from dispatch_aten.shapes import contiguous_strides

from ...arrays import Array

_INT64: Final = np.dtype(np.int64)

#: The coordinates of up to so many elements are kept.
_KEPT: Final = 4096
#: Rows of as many elements are added one by one.
_LONG: Final = 128


def is_outside(index: Array, start: int, stop: int) -> bool:
    """Return whether some index is not in [start, stop)."""
    return bool(index.size) and not (index.item(index.argmin()) >= start and index.item(index.argmax()) < stop)


def check_rows(index: Array, size: int, *, operator: str = "", argument: str = "index") -> None:
    """Check indices that choose among ``size`` rows, and cannot be negative."""
    if is_outside(index, 0, size):
        low, high = index.item(index.argmin()), index.item(index.argmax())
        raise DimensionError(
            "index out of range in self",
            operator=operator,
            argument=argument,
            hint=f"index {low if low < 0 else high} is asked for, and the size is {size}",
        )


def check_along(index: Array, dim: int, size: int) -> None:
    """Check indices of gather and its kin, where negative ones are refused."""
    if not index.size:
        return
    low, high = index.item(index.argmin()), index.item(index.argmax())
    if low < 0 or high >= size:
        wrong = low if low < 0 else high
        raise OperatorError(f"index {wrong} is out of bounds for dimension {dim} with size {size}", argument="index")


def as_vector(array: Array) -> Array:
    """Return an array without dimensions as one with a single dimension, and any other as it is."""
    return array if array.ndim else array.reshape(1)


def _lines(shape: tuple[int, ...], axis: int) -> tuple[Array, ...]:
    """Return the coordinates along each dimension but ``axis``, each as an array that broadcasts to ``shape``."""
    count = len(shape)
    return tuple(
        np.arange(0 if dim == axis else size).reshape([-1 if other == dim else 1 for other in range(count)])
        for dim, size in enumerate(shape)
    )


def _offsets(sizes: tuple[int, ...], shape: tuple[int, ...], axis: int) -> tuple[int, Array]:
    """Return the step along ``axis`` in a flat array of these ``sizes``, and how far other places are from the first."""
    steps = contiguous_strides(sizes)
    total: Any = np.zeros((1,) * len(shape), _INT64)
    for dim, line in enumerate(_lines(shape, axis)):
        if dim != axis:
            total = total + line * steps[dim]
    return steps[axis], total


_keep_lines: Final = lru_cache(maxsize=256)(_lines)
_keep_offsets: Final = lru_cache(maxsize=64)(_offsets)


def locate(array: Array, index: Array, axis: int, shape: tuple[int, ...]) -> tuple[Array, Any]:
    """Return an array that shares the memory of ``array``, and the places in it that ``index`` names along ``axis``.

    ``index`` broadcasts to ``shape``, which has the other coordinates. An array without gaps is taken as flat, which is
    faster to index; so the indices must have been checked.
    """
    if array.ndim == 1:
        return array, index
    is_small = prod(shape) <= _KEPT
    if not array.flags.c_contiguous:
        lines = (_keep_lines if is_small else _lines)(shape, axis)
        return array, (*lines[:axis], index, *lines[axis + 1 :])
    step, offsets = (_keep_offsets if is_small else _offsets)(array.shape, shape, axis)
    wide = index if index.dtype is _INT64 else index.astype(_INT64)
    return array.reshape(-1), (wide if step == 1 else wide * step) + offsets


def read_at(array: Array, place: Any) -> Array:
    """Return the elements at places that `locate` has found."""
    found: Array = array.take(place) if array.ndim == 1 and array.flags.c_contiguous else array[place]
    return found


def apply_at(ufunc: Any, target: Array, place: Any, source: Any) -> None:
    """Combine ``source`` with the elements at places that `locate` has found, as often as each is named."""
    if target.ndim == 1 and place.ndim > 1:  # NumPy has a quick loop for lines.
        place, source = place.reshape(-1), np.broadcast_to(source, place.shape).reshape(-1)
    ufunc.at(target, place, source)


def add_slices(target: Array, axis: int, index: Array, source: Array, ufunc: Any = np.add) -> None:
    """Add the slices of ``source`` along ``axis`` to those that ``index`` names, in order; they are in range."""
    if target.ndim == 1:
        ufunc.at(target, index, source)
    elif axis == 0 and source[0].size >= _LONG:
        for place, row in zip(index.tolist(), source, strict=True):
            into = target[place, ...]
            ufunc(into, row, out=into)
    else:
        shape = [1] * target.ndim
        shape[axis] = -1
        apply_at(ufunc, *locate(target, index.reshape(shape), axis, source.shape), source)
