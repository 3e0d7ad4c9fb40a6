"""Pooling whose windows lie so that the result has a wanted size, or at random places, and its inverse."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, Final

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, arange_like, aten, cast, meta_of, ndim, overload
from dispatch_aten.dtypes import int64
from dispatch_aten.families.padding.composites import in_format
from dispatch_aten.families.resampling.composites import send_back
from dispatch_aten.shapes import RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def flatten(self: Array, count: int) -> Array:
    """Return the array with its last ``count`` dimensions as one."""
    shape = dc.shape(self)
    return aten.reshape.default(self, [*shape[: len(shape) - count], prod(shape[len(shape) - count :])])


def line_along(like: Array, place: int, count: int, numbers: int) -> Array:
    """Return the numbers below ``numbers`` along dimension ``place`` of ``count``."""
    return aten.view.default(arange_like(like, numbers), [-1 if each == place else 1 for each in range(count)])


def _adaptive_windows(self: Array, size: int, count: int) -> tuple[Array, Array, Array, int]:
    """Return places ``(count, length)`` of adaptive windows, which of them count, how many do, and the length.

    PoolWindows shorter than the longest repeat their last element.
    """
    numbers = arange_like(self, count)
    start = aten.floor_divide.Scalar(aten.mul.Scalar(numbers, size), count)
    ends = aten.add.Scalar(aten.mul.Scalar(aten.add.Scalar(numbers, 1), size), count - 1)
    end = aten.floor_divide.Scalar(ends, count)
    length = max(((each + 1) * size + count - 1) // count - each * size // count for each in range(count))
    start, end = aten.unsqueeze.default(start, 1), aten.unsqueeze.default(end, 1)
    places = aten.add.Tensor(start, arange_like(self, length))
    counted = aten.lt.Tensor(places, end)
    return aten.minimum.default(places, aten.sub.Scalar(end, 1)), counted, aten.sub.Tensor(end, start), length


def _is_even(self: Array, output_size: Sequence[int]) -> list[int] | None:
    """Return the kernel size of ordinary pooling where adaptive windows are all alike."""
    sizes = dc.shape(self)[-len(output_size) :]
    if 0 in output_size or any(size % wanted for size, wanted in zip(sizes, output_size, strict=True)):
        return None
    return [size // wanted for size, wanted in zip(sizes, output_size, strict=True)]


def _spread_windows(self: Array, dim: int, places: Array, length: int) -> Array:
    """Return the input with dimension ``dim`` replaced by windows: ``(…, count, length, …)``."""
    shape = dc.shape(self)
    found = aten.index_select.default(self, dim, aten.reshape.default(places, [-1]))
    return aten.reshape.default(found, [*shape[:dim], -1, length, *shape[dim + 1 :]])


def _column(values: Array, dim: int, count: int) -> Array:
    """Return ``(windows, length)`` values for dimensions ``dim`` and the next of ``count``."""
    return aten.reshape.default(values, [*[1] * dim, *dc.shape(values), *[1] * (count - dim - 2)])


def _adaptive_avg_pool(count: int) -> Callable[..., Array]:
    def kernel(self: Array, output_size: Sequence[int]) -> Array:
        made = RULES[f"_adaptive_avg_pool{count}d"](meta_of(self), output_size)
        if 0 in made.shape:
            return aten.new_empty_strided.default(self, made.shape, made.strides)
        even = _is_even(self, output_size)
        if even is not None:
            return in_format(overload(f"avg_pool{count}d")(self, even), made)
        found = self
        for dim, wanted in enumerate(output_size, ndim(self) - count):
            places, counted, sizes, length = _adaptive_windows(self, dc.shape(self)[dim], wanted)
            seen = _spread_windows(found, dim, places, length)
            seen = aten.where.ScalarOther(_column(counted, dim, ndim(seen)), seen, 0)
            by = cast(_column(sizes, dim, ndim(seen)), dc.dtype(self))
            found = aten.div.Tensor(aten.sum.dim_IntList(seen, [dim + 1], True), by)
            found = aten.squeeze.dim(found, dim + 1)
        return in_format(found, made)

    return kernel


def _adaptive_avg_pool_backward(count: int) -> Callable[..., Array]:
    def kernel(grad_output: Array, self: Array) -> Array:
        made = RULES[f"_adaptive_avg_pool{count}d_backward"](meta_of(grad_output), meta_of(self))
        output_size = dc.shape(grad_output)[-count:]
        if 0 in dc.shape(grad_output) or 0 in made.shape:
            return aten.new_zeros.default(grad_output, made.shape)
        even = _is_even(self, output_size)
        if even is not None:
            back = overload(f"avg_pool{count}d_backward")
            return in_format(back(grad_output, self, even, even, [0] * count, False, True, None), made)
        found = grad_output
        for dim, wanted in enumerate(output_size, ndim(self) - count):
            places, counted, sizes, _ = _adaptive_windows(self, dc.shape(self)[dim], wanted)
            weights = aten.div.Tensor(cast(counted, dc.dtype(found)), cast(sizes, dc.dtype(found)))
            found = send_back(found, dim, dc.shape(self)[dim], places, weights)
        return in_format(found, made)

    return kernel


def _adaptive_max_pool(count: int) -> Callable[..., tuple[Array, Array]]:
    def kernel(self: Array, output_size: Sequence[int]) -> tuple[Array, Array]:
        made, _ = RULES[f"adaptive_max_pool{count}d"](meta_of(self), output_size)
        if 0 in made.shape:
            fresh = aten.new_empty_strided.default(self, made.shape, made.strides)
            return fresh, cast(fresh, int64)
        outer, sizes = ndim(self) - count, dc.shape(self)[-count:]
        ranges = [_adaptive_windows(self, size, wanted) for size, wanted in zip(sizes, output_size, strict=True)]
        seen = self
        for dim, (places, _, _, length) in enumerate(ranges):
            seen = _spread_windows(seen, outer + 2 * dim, places, length)
        order = [
            *range(outer),
            *(outer + 2 * dim for dim in range(count)),
            *(outer + 2 * dim + 1 for dim in range(count)),
        ]
        seen = aten.reshape.default(aten.permute.default(seen, order), [*made.shape, -1])
        values, chosen = aten.max.dim(seen, ndim(self), False)
        found = None
        for dim, (places, _, _, length) in enumerate(ranges):
            within = aten.floor_divide.Scalar(chosen, prod(each[3] for each in ranges[dim + 1 :]))
            within = aten.remainder.Scalar(within, length)
            first = aten.mul.Scalar(line_along(self, dim, count, output_size[dim]), length)
            place = aten.take.default(places, aten.add.Tensor(within, first))
            found = place if found is None else aten.add.Tensor(aten.mul.Scalar(found, sizes[dim]), place)
        return in_format(values, made), in_format(found, made)

    return kernel


def _starts(self: Array, sample: Array, size: int, kernel: int, count: int) -> Array:
    """Return where windows at random places begin (source: ``generate_intervals``)."""
    last = aten.new_full.default(sample, [*dc.shape(sample), 1], size - kernel, dtype=int64)
    if count == 1:
        return last
    sample = aten.unsqueeze.default(sample, -1)
    # The ratio is a number of the samples' dtype, as it is in torch.
    ratio = aten.div.Scalar(aten.new_full.default(sample, (), size - kernel), count - 1)
    moved = aten.mul.Tensor(aten.add.Tensor(cast(arange_like(self, count - 1), dc.dtype(sample)), sample), ratio)
    first = cast(aten.mul.Tensor(sample, ratio), int64)
    return aten.cat.default([aten.sub.Tensor(cast(moved, int64), first), last], -1)


def _fractional(count: int) -> Callable[..., tuple[Array, Array]]:
    def kernel(
        self: Array, kernel_size: Sequence[int], output_size: Sequence[int], random_samples: Array
    ) -> tuple[Array, Array]:
        metas = meta_of(self), kernel_size, output_size, meta_of(random_samples)
        made, _ = RULES[f"fractional_max_pool{count}d"](*metas)
        sizes = dc.shape(self)[-count:]
        outer = [1, *made.shape[:-count]][-2:]
        samples = aten.slice.Tensor(random_samples, 0, 0, outer[0])
        linear = None
        for dim in range(count):
            sample = aten.select.int(samples, 2, count - 1 - dim if count == 2 else dim)
            start = _starts(self, sample, sizes[dim], kernel_size[dim], output_size[dim])
            place = aten.add.Tensor(aten.unsqueeze.default(start, -1), arange_like(self, kernel_size[dim]))
            shape = [1] * (2 * count)
            shape[dim], shape[count + dim] = output_size[dim], kernel_size[dim]
            place = aten.reshape.default(place, [*outer, *shape])
            linear = place if linear is None else aten.add.Tensor(aten.mul.Scalar(linear, sizes[dim]), place)
        flat = flatten(linear, 2 * count)
        seen = aten.gather.default(aten.reshape.default(self, [*outer, prod(sizes)]), 2, flat)
        grid = [*outer, *output_size, prod(kernel_size)]
        values, chosen = aten.max.dim(aten.reshape.default(seen, grid), -1, True)
        places = aten.gather.default(aten.reshape.default(flat, grid), count + 2, chosen)
        return aten.reshape.default(values, made.shape), aten.reshape.default(places, made.shape)

    return kernel


def _max_unpool(count: int) -> Callable[..., Array]:
    name = f"max_unpool{count}d"

    def kernel(self: Array, indices: Array, output_size: Sequence[int], *options: Any) -> Array:
        made = RULES[name](meta_of(self), meta_of(indices), output_size, *options)
        outer = made.shape[:-count]
        fresh = aten.new_zeros.default(self, [*outer, prod(output_size)])
        flat = [flatten(each, count) for each in (indices, self)]
        return in_format(aten.reshape.default(aten.scatter.src(fresh, -1, *flat), made.shape), made)

    return kernel


def _explicit() -> dict[str, Callable[..., Any]]:
    found: dict[str, Callable[..., Any]] = {}
    for count in (2, 3):
        found[f"_adaptive_avg_pool{count}d"] = _adaptive_avg_pool(count)
        found[f"_adaptive_avg_pool{count}d_backward"] = _adaptive_avg_pool_backward(count)
        found[f"adaptive_max_pool{count}d"] = _adaptive_max_pool(count)
        found[f"fractional_max_pool{count}d"] = _fractional(count)
        found[f"max_unpool{count}d"] = _max_unpool(count)
    return found


FORMULAS: Final[dict[str, Callable[..., Any]]] = _explicit()
