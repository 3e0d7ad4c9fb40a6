"""Pooling: windows of the padded input, or elements gathered by their places, and then a reduction."""

from __future__ import annotations

from math import inf, prod
from typing import TYPE_CHECKING, Any, Final

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, arange_like, aten, cast, meta_of, ndim, numel, overload
from dispatch_aten.errors import ShapeError
from dispatch_aten.families.convolution.composites import windows
from dispatch_aten.families.padding.composites import in_format
from dispatch_aten.families.pooling.adaptive import flatten, line_along
from dispatch_aten.families.pooling.shapes import PoolWindows, pool_windows
from dispatch_aten.shapes import RULES

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
            start = aten.mul.Scalar(line_along(self, dim, count, moved.sizes[dim]), moved.stride[dim])
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


def _on_planes(
    self: Array,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
) -> tuple[Any, ...]:
    """Return the arguments of pooling lines as those of pooling planes."""
    _check_line("max_pool1d", self)
    line, stride = aten.unsqueeze.default(self, -2), stride or kernel_size
    return line, [1, *kernel_size], [1, *stride], [0, *padding], [1, *dilation], ceil_mode


def _max_pool1d_with_indices(self: Array, *args: Any, **kwargs: Any) -> tuple[Array, Array]:
    found = aten.max_pool2d_with_indices.default(*_on_planes(self, *args, **kwargs))
    return aten.squeeze.dim(found[0], -2), aten.squeeze.dim(found[1], -2)


_FEW: Final = 4096


def _max_pool1d(self: Array, *args: Any, **kwargs: Any) -> Array:
    planes = _on_planes(self, *args, **kwargs)
    # The places of a few elements cost less than a composite more.
    few = numel(self) <= _FEW
    found = aten.max_pool2d_with_indices.default(*planes)[0] if few else aten.max_pool2d.default(*planes)
    return aten.squeeze.dim(found, -2)


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
        laid_out = dc.strides(found) == made.strides or not dc.has_strides(found)
        return found if laid_out else aten.as_strided.default(found, made.shape, made.strides)

    return kernel


def _explicit() -> dict[str, Callable[..., Any]]:
    found: dict[str, Callable[..., Any]] = {}
    for count in (2, 3):
        pool = f"max_pool{count}d_with_indices"
        found[pool] = _max_pool(pool, count)
        found[f"avg_pool{count}d"] = _avg_pool(count)
        found[f"avg_pool{count}d_backward"] = _avg_pool_backward(count)
        for name in (pool, f"adaptive_max_pool{count}d", f"fractional_max_pool{count}d"):
            found[f"{name}_backward"] = _indexed_backward(f"{name}_backward", count)
    return found


FORMULAS: Final[dict[str, Callable[..., Any]]] = _explicit()
