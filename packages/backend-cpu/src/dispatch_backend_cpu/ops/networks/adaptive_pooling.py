"""Pooling by windows that lie so that the result has a wanted size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from ...arrays import Array
from ...kernel_table import KernelTable
from ...output_specs import OutputSpec, half_as_float
from ..support.constants import number
from ..support.reduce_ufuncs import MAX, SUM
from ..support.rule_kernels import cast, make_prepared
from . import pooling, resampling

KERNELS: Final = KernelTable()


def _windows(size: int, count: int) -> tuple[Array, Array, Array]:
    """Return places ``(count, length)`` of windows, which of them count, and how many do.

    Windows shorter than the longest repeat their last element.
    """
    numbers = np.arange(count)
    start, end = numbers * size // count, ((numbers + 1) * size + count - 1) // count
    sizes = end - start
    places = start[:, None] + np.arange(sizes.max())
    return np.minimum(places, end[:, None] - 1), places < end[:, None], sizes


@lru_cache(maxsize=32)
def _places(sizes: tuple[int, ...], wanted: tuple[int, ...]) -> Array:
    """Return the places in the flat input, window by window."""
    found = np.zeros((1, 1), np.int64)
    for size, each in zip(sizes, wanted, strict=True):
        line = _windows(size, each)[0]
        found = (found[:, None, :, None] * size + line[None, :, None, :]).reshape(
            found.shape[0] * line.shape[0], found.shape[1] * line.shape[1]
        )
    return found


def _max_pool(count: int) -> Callable[..., Callable[..., Any]]:
    def prepare(specs: Sequence[OutputSpec], self: Array, output_size: Sequence[int]) -> Callable[..., Any]:
        shape, dtype = specs[0].shape, self.dtype
        if not specs[0].numel:
            return lambda self, output_size: (np.empty(shape, dtype), np.empty(shape, np.int64))
        sizes, wanted = self.shape[self.ndim - count :], shape[len(shape) - count :]
        outer, is_float = (*shape[: len(shape) - count], -1), dtype.kind not in "iu"

        def compute(self: Array, output_size: Sequence[int]) -> tuple[Any, Any]:
            places = _places(sizes, wanted)
            seen = self.reshape(outer).take(places, -1)
            best, chosen = MAX(seen, -1), seen.argmax(-1)
            if is_float and (top := MAX(best, None)) != top:
                # Of several nan the last counts.
                is_nan = np.isnan(seen)
                last = places.shape[1] - 1 - is_nan[..., ::-1].argmax(-1)
                chosen = np.where(is_nan.any(-1), last, chosen)
            chosen += np.arange(0, places.size, places.shape[1])
            return best.reshape(shape), places.take(chosen).reshape(shape)

        return compute

    return prepare


#: From so many elements on, those of few long windows are not copied.
_MANY: Final = 1 << 14


def _average_slices(a: Array, dim: int, starts: Array, sizes: Array) -> Array:
    """Return the averages of a few long windows, none of which is copied."""
    found = np.empty((*a.shape[:dim], len(starts), *a.shape[dim + 1 :]), a.dtype)
    outer: tuple[Any, ...] = (slice(None),) * dim
    for place, (start, size) in enumerate(zip(starts.tolist(), sizes.tolist(), strict=True)):
        into = found[(*outer, place)]
        np.true_divide(SUM(a[(*outer, slice(start, start + size))], dim), number(size, a), into[...])
    return found


def _avg_pool(count: int) -> Callable[..., Callable[..., Any]]:
    average = pooling.KERNELS[f"avg_pool{count}d"]

    def prepare(spec: OutputSpec, self: Array, output_size: Sequence[int]) -> Callable[..., Any]:
        shape, dtype = spec.shape, half_as_float(self.dtype)
        if not spec.numel:
            return lambda self, output_size: np.empty(shape, dtype)
        sizes, wanted = self.shape[self.ndim - count :], shape[len(shape) - count :]
        if not any(size % each for size, each in zip(sizes, wanted, strict=True)):
            even = [size // each for size, each in zip(sizes, wanted, strict=True)]
            return lambda self, output_size: average(self, even)
        steps = []
        for dim, (size, each) in enumerate(zip(sizes, wanted, strict=True), self.ndim - count):
            places, counted, numbers = _windows(size, each)
            after = (1,) * (self.ndim - dim - 1)
            steps.append((dim, places, counted.reshape(*counted.shape, *after), numbers.reshape(-1, *after)))

        def compute(self: Array, output_size: Sequence[int]) -> Any:
            found: Any = cast(self, dtype)
            for dim, places, counted, numbers in steps:
                if found.size >= _MANY and 4 * places.shape[0] <= places.shape[1]:
                    found = _average_slices(found, dim, places[:, 0], numbers.reshape(-1))
                    continue
                seen = found.take(places.reshape(-1), dim)
                seen = seen.reshape(*found.shape[:dim], *places.shape, *found.shape[dim + 1 :])
                found = SUM(np.where(counted, seen, number(0, seen)), dim + 1) / numbers.astype(dtype)
            return found

        return compute

    return prepare


def _avg_pool_backward(count: int) -> Callable[..., Callable[..., Any]]:
    average_backward = pooling.KERNELS[f"avg_pool{count}d_backward"]

    def prepare(spec: OutputSpec, grad_output: Array, self: Array) -> Callable[..., Any]:
        shape, dtype = spec.shape, half_as_float(grad_output.dtype)
        if not grad_output.size or not spec.numel:
            return lambda grad_output, self: np.zeros(shape, dtype)
        sizes, wanted = shape[len(shape) - count :], grad_output.shape[grad_output.ndim - count :]
        if not any(size % each for size, each in zip(sizes, wanted, strict=True)):
            even = [size // each for size, each in zip(sizes, wanted, strict=True)]
            return lambda grad, self: average_backward(grad, self, even, even, [0] * count, False, True, None)
        steps = []
        for dim, (size, each) in enumerate(zip(sizes, wanted, strict=True), grad_output.ndim - count):
            places, counted, numbers = _windows(size, each)
            weights = counted.astype(dtype) / numbers.astype(dtype)[:, None]
            steps.append((dim, resampling.spread_matrix(size, places, weights, dtype)))

        def compute(grad_output: Array, self: Array) -> Any:
            found = cast(grad_output, dtype)
            for dim, make in steps:
                found = resampling.send_back(found, dim, make)
            return found

        return compute

    return prepare


for _count in (2, 3):
    KERNELS[f"_adaptive_avg_pool{_count}d_backward"] = make_prepared(
        f"_adaptive_avg_pool{_count}d_backward", _avg_pool_backward(_count)
    )
    KERNELS[f"adaptive_max_pool{_count}d"] = make_prepared(f"adaptive_max_pool{_count}d", _max_pool(_count))
    KERNELS[f"_adaptive_avg_pool{_count}d"] = make_prepared(f"_adaptive_avg_pool{_count}d", _avg_pool(_count))
