"""Pooling: windows of the padded input, or elements gathered by their places, and then a reduction."""

from __future__ import annotations

from math import inf, prod
from typing import TYPE_CHECKING, Any, Final

import dispatch_core as dc
from dispatch_aten.dtypes import int64
from dispatch_aten.errors import ShapeError
from dispatch_aten.shapes import RULES
from dispatch_aten.shapes.pooling import PoolWindows, pool_windows

from ._shared import Array, arange_like, aten, cast, meta_of, ndim, overload
from .convolution import windows
from .padding import in_format

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def _fit(self: Array, moved: PoolWindows, value: float) -> Array:
    """Return the input with ``value`` around it, as far as the windows reach."""
    around: list[int] = []
    for size, kernel, step, pad, gap, count in reversed(
        list(zip(dc.shape(self)[-len(moved.kernel) :], *moved[:4], moved.sizes, strict=True))
    ):
        around += [pad, (count - 1) * step + gap * (kernel - 1) + 1 - size - pad]
    return aten.constant_pad_nd.default(self, around, value) if any(around) else self


def flatten(self: Array, count: int) -> Array:
    """Return the array with its last ``count`` dimensions as one."""
    shape = dc.shape(self)
    return aten.reshape.default(self, [*shape[: len(shape) - count], prod(shape[len(shape) - count :])])


def _line(like: Array, place: int, count: int, numbers: int) -> Array:
    """Return the numbers below ``numbers`` along dimension ``place`` of ``count``."""
    return aten.view.default(arange_like(like, numbers), [-1 if each == place else 1 for each in range(count)])


def _max_pool(name: str, count: int) -> Callable[..., tuple[Array, Array]]:
    def kernel(
        self: Array,
        kernel_size: Sequence[int],
        stride: Sequence[int] = (),
        padding: Sequence[int] = (0,),
        dilation: Sequence[int] = (1,),
        ceil_mode: bool = False,
    ) -> tuple[Array, Array]:
        made, _ = RULES[name](meta_of(self), kernel_size, stride, padding, dilation, ceil_mode)
        options = (kernel_size, stride, padding, dilation)
        moved = pool_windows(name, dc.shape(self), *options, ceil_mode=ceil_mode, count=count)
        least = -inf if dc.dtype(self).is_floating_point else dc.dtype(self).bounds[0]
        seen = windows(_fit(self, moved, least), moved.kernel, moved.stride, moved.dilation)
        outer = dc.shape(self)[:-count]
        values, chosen = aten.max.dim(
            aten.reshape.default(seen, [*outer, prod(moved.kernel), *moved.sizes]), len(outer), False
        )
        places = None
        for dim, size in enumerate(dc.shape(self)[-count:]):
            within = aten.floor_divide.Scalar(chosen, prod(moved.kernel[dim + 1 :]))
            within = aten.remainder.Scalar(within, moved.kernel[dim])
            start = aten.mul.Scalar(_line(self, dim, count, moved.sizes[dim]), moved.stride[dim])
            place = aten.add.Tensor(aten.mul.Scalar(within, moved.dilation[dim]), start)
            place = aten.sub.Scalar(place, moved.padding[dim])
            places = place if places is None else aten.add.Tensor(aten.mul.Scalar(places, size), place)
        return in_format(values, made), in_format(places, made)

    return kernel


def _lay_out(name: str, grad: Array, self: Array, indices: Array, options: Sequence[Any], count: int) -> Array:
    """Add each gradient to the element that its index names, in arrays of the input's shape."""
    made = RULES[name](meta_of(grad), meta_of(self), *options, meta_of(indices))
    outer, inner = made.shape[:-count], made.shape[-count:]
    fresh = aten.new_zeros.default(grad, [*outer, prod(inner)])
    flat = [flatten(each, count) for each in (indices, grad)]
    return in_format(aten.reshape.default(aten.scatter_add.default(fresh, -1, *flat), made.shape), made)


def _indexed_backward(name: str, count: int) -> Callable[..., Array]:
    def kernel(grad_output: Array, self: Array, *options: Any) -> Array:
        *numbers, indices = options
        return _lay_out(name, grad_output, self, indices, numbers, count)

    return kernel


def _counts(self: Array, size: int, numbers: tuple[int, ...], pads: bool) -> Array:
    """Return how many elements the windows along one dimension hold."""
    kernel, stride, pad, count = numbers
    start = aten.sub.Scalar(aten.mul.Scalar(arange_like(self, count), stride), pad)
    end = aten.clamp_max.default(aten.add.Scalar(start, kernel), size + pad)
    if not pads:
        start, end = aten.clamp_min.default(start, 0), aten.clamp_max.default(end, size)
    return aten.sub.Tensor(end, start)


def _divide(summed: Array, self: Array, moved: PoolWindows, pads: bool, divisor: int | None) -> Array:
    """Divide sums of windows by the numbers of their elements."""
    sizes = dc.shape(self)[-len(moved.kernel) :]
    numbers = list(zip(moved.kernel, moved.stride, moved.padding, moved.sizes, strict=True))
    inside = all(
        (count - 1) * step + kernel <= size + (2 * pad if pads else 0) and (pads or not pad)
        for size, (kernel, step, pad, count) in zip(sizes, numbers, strict=True)
    )
    by: Any = prod(moved.kernel) if divisor is None else divisor
    if divisor is None and not inside:
        by = None
        for dim, (size, each) in enumerate(zip(sizes, numbers, strict=True)):
            line = _counts(self, size, each, pads)
            line = aten.view.default(line, [-1 if place == dim else 1 for place in range(len(sizes))])
            by = line if by is None else aten.mul.Tensor(by, line)
        by = cast(by, dc.dtype(summed))
    if dc.dtype(summed).is_floating_point:
        return aten.div.Scalar(summed, by) if isinstance(by, int) else aten.div.Tensor(summed, by)
    mode = aten.div.Scalar_mode if isinstance(by, int) else aten.div.Tensor_mode
    return mode(summed, by, rounding_mode="trunc")


def _avg_pool(count: int) -> Callable[..., Array]:
    name = f"avg_pool{count}d"

    def kernel(
        self: Array,
        kernel_size: Sequence[int],
        stride: Sequence[int] = (),
        padding: Sequence[int] = (0,),
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Array:
        options = (kernel_size, stride, padding)
        made = RULES[name](meta_of(self), *options, ceil_mode, count_include_pad, divisor_override)
        moved = pool_windows(name, dc.shape(self), *options, (1,), ceil_mode=ceil_mode, count=count)
        seen = windows(_fit(self, moved, 0), moved.kernel, moved.stride, moved.dilation)
        outer = len(made.shape) - count
        summed = aten.sum.dim_IntList(seen, list(range(outer, outer + count)), False, dtype=dc.dtype(self))
        return in_format(_divide(summed, self, moved, count_include_pad, divisor_override), made)

    return kernel


def _avg_pool_backward(count: int) -> Callable[..., Array]:
    name = f"avg_pool{count}d"

    def kernel(
        grad_output: Array,
        self: Array,
        kernel_size: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
    ) -> Array:
        options = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
        made = RULES[f"{name}_backward"](meta_of(grad_output), meta_of(self), *options)
        moved = pool_windows(name, made.shape, *options[:3], (1,), ceil_mode=ceil_mode, count=count)
        each = _divide(grad_output, self, moved, count_include_pad, divisor_override)
        outer, inner = made.shape[:-count], made.shape[-count:]
        reached = [
            max((size - 1) * step + kernel, length + pad)
            for size, step, kernel, length, pad in zip(
                moved.sizes, moved.stride, moved.kernel, inner, moved.padding, strict=True
            )
        ]
        positions = aten.view.default(arange_like(self, prod(reached)), reached)
        for dim, (size, step, span) in enumerate(zip(moved.sizes, moved.stride, moved.kernel, strict=True)):
            positions = aten.slice.Tensor(positions, dim, 0, (size - 1) * step + span)
        places = aten.reshape.default(windows(positions, moved.kernel, moved.stride, (1,) * count), [-1])
        values = aten.reshape.default(each, [*outer, *[1] * count, *moved.sizes])
        values = flatten(aten.expand.default(values, [*outer, *moved.kernel, *moved.sizes]), 2 * count)
        fresh = aten.new_zeros.default(grad_output, [*outer, prod(reached)])
        added = aten.view.default(aten.index_add.default(fresh, len(outer), places, values), [*outer, *reached])
        for dim, (pad, size) in enumerate(zip(moved.padding, inner, strict=True), len(outer)):
            added = aten.slice.Tensor(added, dim, pad, pad + size)
        return in_format(aten.contiguous.default(added), made)

    return kernel


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
    """Return ``(windows, length)`` values in the place of dimensions ``dim`` and the next of ``count``."""
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
            total = ndim(found) + 1
            each = aten.div.Tensor(
                aten.unsqueeze.default(found, dim + 1), cast(_column(sizes, dim, total), dc.dtype(found))
            )
            each = aten.where.ScalarOther(_column(counted, dim, total), each, 0)
            shape = dc.shape(found)
            each = aten.reshape.default(each, [*shape[:dim], -1, *shape[dim + 1 :]])
            fresh = aten.new_zeros.default(found, [*shape[:dim], dc.shape(self)[dim], *shape[dim + 1 :]])
            found = aten.index_add.default(fresh, dim, aten.reshape.default(places, [-1]), each)
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
            first = aten.mul.Scalar(_line(self, dim, count, output_size[dim]), length)
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


def _first_of(name: str) -> Callable[..., Array]:
    def kernel(self: Array, *args: Any, **kwargs: Any) -> Array:
        return overload(name)(self, *args, **kwargs)[0]

    return kernel


def _check_line(name: str, self: Array) -> None:
    if ndim(self) not in (2, 3):
        raise ShapeError(
            f"Expected 2 to 3 dimensions, but got {ndim(self)}-dimensional tensor for argument #1 'self' (while checking "
            f"arguments for {name})",
            argument="self",
        )


def _max_pool1d(
    self: Array,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
) -> tuple[Array, Array]:
    _check_line("max_pool1d", self)
    found = aten.max_pool2d_with_indices.default(
        aten.unsqueeze.default(self, -2),
        [1, *kernel_size],
        [1, *(stride or kernel_size)],
        [0, *padding],
        [1, *dilation],
        ceil_mode,
    )
    return aten.squeeze.dim(found[0], -2), aten.squeeze.dim(found[1], -2)


def _avg_pool1d(
    self: Array,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Array:
    _check_line("avg_pool1d", self)
    line = aten.unsqueeze.default(self, -2)
    options = [1, *kernel_size], [1, *(stride or kernel_size)], [0, *padding], ceil_mode, count_include_pad
    return aten.squeeze.dim(aten.avg_pool2d.default(line, *options), -2)


def _adaptive_max_pool1d(self: Array, output_size: Sequence[int]) -> tuple[Array, Array]:
    _check_line("adaptive_max_pool1d", self)
    found = aten.adaptive_max_pool2d.default(aten.unsqueeze.default(self, -2), [1, *output_size])
    return aten.squeeze.dim(found[0], -2), aten.squeeze.dim(found[1], -2)


def _adaptive_avg_pool1d(self: Array, output_size: Sequence[int]) -> Array:
    _check_line("adaptive_avg_pool1d", self)
    return aten.squeeze.dim(aten.adaptive_avg_pool2d.default(aten.unsqueeze.default(self, -2), [1, *output_size]), -2)


def _adaptive_avg(count: int) -> Callable[..., Array]:
    name = f"_adaptive_avg_pool{count}d"

    def kernel(self: Array, output_size: Sequence[int]) -> Array:
        made = RULES[name](meta_of(self), output_size)
        if any(size != 1 for size in output_size) or made.dtype.itemsize < 4:
            return overload(name)(self, output_size)
        found = aten.mean.dim(self, list(range(-count, 0)), True)
        return found if dc.strides(found) == made.strides else aten.as_strided.default(found, made.shape, made.strides)

    return kernel


IMPLICIT: Final[dict[str, Callable[..., Any]]] = {
    "max_pool1d_with_indices": _max_pool1d,
    "max_pool1d": _first_of("max_pool1d_with_indices"),
    "max_pool2d": _first_of("max_pool2d_with_indices"),
    "max_pool3d": _first_of("max_pool3d_with_indices"),
    "avg_pool1d": _avg_pool1d,
    "adaptive_avg_pool1d": _adaptive_avg_pool1d,
    "adaptive_avg_pool2d": _adaptive_avg(2),
    "adaptive_avg_pool3d": _adaptive_avg(3),
    "adaptive_max_pool1d": _adaptive_max_pool1d,
}


def _explicit() -> dict[str, Callable[..., Any]]:
    found: dict[str, Callable[..., Any]] = {}
    for count in (2, 3):
        pool = f"max_pool{count}d_with_indices"
        found[pool] = _max_pool(pool, count)
        found[f"avg_pool{count}d"] = _avg_pool(count)
        found[f"avg_pool{count}d_backward"] = _avg_pool_backward(count)
        found[f"_adaptive_avg_pool{count}d"] = _adaptive_avg_pool(count)
        found[f"_adaptive_avg_pool{count}d_backward"] = _adaptive_avg_pool_backward(count)
        found[f"adaptive_max_pool{count}d"] = _adaptive_max_pool(count)
        found[f"fractional_max_pool{count}d"] = _fractional(count)
        found[f"max_unpool{count}d"] = _max_unpool(count)
        for name in (pool, f"adaptive_max_pool{count}d", f"fractional_max_pool{count}d"):
            found[f"{name}_backward"] = _indexed_backward(f"{name}_backward", count)
    return found


EXPLICIT: Final[dict[str, Callable[..., Any]]] = _explicit()
