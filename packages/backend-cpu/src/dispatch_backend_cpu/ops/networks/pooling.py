"""Pooling: a pass over the whole input for each place in the window, along one dimension after another where it can be."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dispatch_aten import shapes

from ...arrays import Array
from ...fp_errors import run
from ...kernel_table import Kernel, KernelTable
from ...output_specs import OutputSpec, half_as_float, prepared_rule
from ..support.constants import NUMBERS
from ..support.reduce_ufuncs import MAX
from ..support.rule_kernels import cast, finish, make_kernel, make_prepared
from .convolution import inner, make_pad, shifts

if TYPE_CHECKING:
    from dispatch_aten.shapes import PoolWindows


KERNELS: Final = KernelTable()


def _around(shape: Sequence[int], moved: PoolWindows) -> list[tuple[int, int]]:
    """Return how much padding the windows reach, before and after each dimension."""
    return [
        (before, max((count - 1) * step + gap * (kernel - 1) + 1 - size - before, 0))
        for size, kernel, step, before, gap, count in zip(
            shape[-len(moved.kernel) :], *moved[:4], moved.sizes, strict=True
        )
    ]


#: Up to how many elements a new array costs less than writing to one that is read.
_SMALL: Final = 1024


def _least(dtype: np.dtype[Any]) -> Any:
    return -np.inf if dtype.kind not in "iu" else np.iinfo(dtype).min


def _first_inside(moved: PoolWindows) -> Array:
    """Return, for each window, the number of its first place that is no padding."""
    found = np.zeros((), np.int64)
    for dim, (kernel, step, before, gap, count) in enumerate(zip(*moved, strict=True)):
        outside = np.maximum(before - np.arange(count) * step, 0)
        line = (outside + gap - 1) // gap
        found = found * kernel + line.reshape([-1 if each == dim else 1 for each in range(len(moved.kernel))])
    return found


@lru_cache(maxsize=64)
def _make_places(sizes: tuple[int, ...], moved: PoolWindows) -> tuple[Array, Array, Array]:
    """Return each window's first place that is no padding, the places in a window, and where the windows begin.

    The first is a number of a place in the window; the others add up to places in the input.
    """
    kernels = np.unravel_index(np.arange(prod(moved.kernel)), moved.kernel)
    within, starts = np.zeros(prod(moved.kernel), np.int64), np.zeros((), np.int64)
    for dim, (place, gap) in enumerate(zip(kernels, moved.dilation, strict=True)):
        weight = prod(sizes[dim + 1 :])
        within += place * gap * weight
        line = (np.arange(moved.sizes[dim]) * moved.stride[dim] - moved.padding[dim]) * weight
        starts = starts + line.reshape([-1 if each == dim else 1 for each in range(len(sizes))])
    small = np.uint8 if prod(moved.kernel) < 256 else np.int64
    return _first_inside(moved).astype(small), within, starts


def _all_reach(sizes: Sequence[int], moved: PoolWindows) -> bool:
    """Return whether every window holds an element that is no padding."""
    # A window that begins in padding may step over all elements.
    return all(
        start >= 0 or start % gap < size
        for size, (_, step, before, gap, count) in zip(sizes, zip(*moved, strict=True), strict=True)
        for start in range(-before, min(0, count * step - before), step)
    )


#: Of windows with up to so many elements in all, all elements are taken at once.
_TAKEN: Final = 2048
#: With so few places in a window a pass for each costs less, but for the smallest arrays.
_FEW_PLACES, _SMALLEST = 4, 256


def _windows(sizes: tuple[int, ...], moved: PoolWindows) -> Array:
    """Return the places ``(windows, elements)`` of windows, those of padding replaced by the first that is none."""
    inside, within, starts = _make_places(sizes, moved)
    found: Array = starts.reshape(-1, 1) + within
    is_inside: Any = np.ones((), np.bool_)
    for dim, (kernel, step, before, gap, count) in enumerate(zip(*moved, strict=True)):
        line = (np.arange(count) * step - before)[:, None] + np.arange(kernel) * gap
        shape = [-1 if each == dim else 1 for each in range(len(sizes))]
        is_inside = is_inside & ((line >= 0) & (line < sizes[dim])).reshape(
            *(count if each < 0 else 1 for each in shape), *(kernel if each < 0 else 1 for each in shape)
        )
    first = within.take(inside.reshape(-1)) + starts.reshape(-1)
    return np.where(is_inside.reshape(found.shape), found, first[:, None])


def _max_pool(count: int) -> Callable[..., Callable[..., Any]]:
    name = f"max_pool{count}d"

    def prepare(
        specs: Sequence[OutputSpec],
        self: Array,
        kernel_size: Sequence[int],
        stride: Sequence[int] = (),
        padding: Sequence[int] = (0,),
        dilation: Sequence[int] = (1,),
        ceil_mode: bool = False,
    ) -> Callable[..., Any]:
        options = (kernel_size, stride, padding, dilation)
        moved = shapes.pool_windows(name, self.shape, *options, ceil_mode=ceil_mode, count=count)
        shape, dtype = specs[0].shape, self.dtype
        if not specs[0].numel:
            return lambda self, *options: (np.empty(shape, dtype), np.empty(shape, np.int64))
        fit, is_float = make_pad(self.shape, _around(self.shape, moved), _least(dtype)), dtype.kind not in "iu"
        few = _TAKEN if prod(moved.kernel) > _FEW_PLACES else _SMALLEST
        if specs[0].numel * prod(moved.kernel) <= few and _all_reach(self.shape[-count:], moved):
            flat, windows = (*self.shape[:-count], -1), _windows(self.shape[-count:], moved)
            begins = np.arange(0, windows.size, windows.shape[1])
        else:
            flat = None
        small = np.dtype(np.uint8 if prod(moved.kernel) < 256 else np.int64)
        sizes = self.shape[-count:]
        begin, *rest = shifts(moved.kernel, moved.sizes, moved.stride, moved.dilation)
        numbered = [(np.array(number, small), place) for number, place in enumerate(rest, 1)]
        is_large = specs[0].numel > _SMALL

        def compute(self: Array, *options: Any) -> tuple[Array, Array]:
            if flat is not None:
                seen = self.reshape(flat).take(windows, -1)
                best = MAX(seen, -1)
                if not is_float or (top := MAX(best, None)) == top:
                    chosen = seen.argmax(-1)
                    chosen += begins
                    return best.reshape(shape), windows.take(chosen).reshape(shape)
            a = fit(self)
            # The largest element is nan where one is; only then they are looked for at every place.
            has_nan = bool(is_float and (top := MAX(self, None)) != top)
            chosen, within, starts = _make_places(sizes, moved)
            best = a[begin].copy()
            for number, place in numbered:
                seen = a[place]
                better = np.greater(seen, best)
                if has_nan:
                    better |= np.isnan(seen)
                # A small array is not written to, which takes longer to begin than to make one.
                best = np.maximum(best, seen, out=best if is_large else None)
                # Places come in order, so the last better one is the largest: no branch for each element.
                chosen = np.maximum(chosen, np.multiply(better.view(np.uint8), number))
            places = within.take(chosen) + starts
            return best, places if numbered else np.broadcast_to(places, shape).copy()

        return compute

    return prepare


def _max_of_windows(count: int) -> Kernel:
    """Make the short way of pooling without places: the largest elements along one dimension after another."""
    name = f"max_pool{count}d"

    def prepare(
        specs: Sequence[OutputSpec],
        self: Array,
        kernel_size: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        ceil_mode: bool,
    ) -> Callable[..., Any]:
        moved = shapes.pool_windows(
            name, self.shape, kernel_size, stride, padding, dilation, ceil_mode=ceil_mode, count=count
        )
        shape = specs[0].shape
        few = 0 < specs[0].numel * prod(moved.kernel) <= _TAKEN
        if few and _all_reach(self.shape[-count:], moved):
            flat, places = (*self.shape[:-count], -1), _windows(self.shape[-count:], moved)
            return lambda self: MAX(self.reshape(flat).take(places, -1), -1).reshape(shape)
        fit = make_pad(self.shape, _around(self.shape, moved), _least(self.dtype))
        fold = _make_fold(moved, np.maximum, _greatest_so_far)
        return lambda self: fold(fit(self))

    infer = prepared_rule(f"{name}_with_indices", prepare)

    def way(
        self: Array,
        kernel_size: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        ceil_mode: bool,
    ) -> Any:
        if self.dtype not in NUMBERS:
            return NotImplemented
        specs, compute = infer(self, kernel_size, stride, padding, dilation, ceil_mode)
        return finish(run(compute, self), specs[0])

    return way


def _indexed_backward(count: int) -> Kernel:
    def compute(spec: OutputSpec, grad: Array, self: Array, *options: Any) -> Any:
        """Add each gradient to the element that its index names."""
        indices: Array = options[-1]
        planes, size = prod(spec.shape[:-count]), prod(spec.shape[-count:])
        if not indices.size:
            return np.zeros(spec.shape, spec.array_dtype)
        places = (indices.reshape(planes, -1) + np.arange(planes, dtype=np.int64)[:, None] * size).reshape(-1)
        values = cast(grad, np.dtype(np.float64)).reshape(-1)
        if MAX(indices, None) >= size:
            # The place of a window wholly in padding lies outside the input.
            inside = indices.reshape(-1) < size
            places, values = places[inside], values[inside]
        added = np.bincount(places, values, planes * size)
        return added.reshape(spec.shape)

    return compute


def _greatest_so_far(found: Array, seen: Array) -> Any:
    # A small array is not written to, which takes longer to begin than to make one.
    return np.maximum(found, seen) if found.size <= _SMALL else np.maximum(found, seen, out=found)


def _make_fold(
    moved: PoolWindows, join: Callable[..., Any] = operator.add, go_on: Callable[..., Any] = operator.iadd
) -> Callable[[Array], Array]:
    """Make the function that folds windows, along one dimension after another; ``go_on`` may write to the joined windows."""
    lines = []
    for back, (kernel, step, _, gap, count) in enumerate(zip(*map(reversed, moved), strict=True)):
        after = (slice(None),) * back
        starts = range(0, kernel * gap, gap)
        lines.append([inner((slice(start, start + (count - 1) * step + 1, step), *after)) for start in starts])

    def fold_up(a: Array) -> Array:
        for first, *rest in lines:
            found = join(a[first], a[rest[0]]) if rest else a[first].copy()
            for place in rest[1:]:
                found = go_on(found, a[place])
            a = found
        return a

    return fold_up


@lru_cache(maxsize=64)
def _counts(shape: tuple[int, ...], moved: PoolWindows, pads: bool) -> Any:
    """Return how many elements the windows hold, as one number where that is the same for all."""
    total: Any = 1
    for dim, (size, kernel, step, before, count) in enumerate(
        zip(shape[-len(moved.kernel) :], *moved[:3], moved.sizes, strict=True)
    ):
        start = np.arange(count) * step - before
        end = np.minimum(start + kernel, size + before)
        if not pads:
            start, end = np.maximum(start, 0), np.minimum(end, size)
        line = end - start
        if (line == line[0]).all():
            total = total * int(line[0])
        else:
            total = total * line.reshape([-1 if each == dim else 1 for each in range(len(moved.kernel))])
    return total


def _divide(summed: Array, by: Any) -> Array:
    if summed.dtype.kind == "i":
        return np.sign(summed) * np.sign(by) * (np.abs(summed) // np.abs(by))
    summed /= np.asarray(by, summed.dtype)
    return summed


def _moved_of(
    count: int, shape: tuple[int, ...], options: Sequence[Any]
) -> tuple[PoolWindows, Callable[[Sequence[int]], Any]]:
    """Return how the windows of an average move, and the function that returns their divisors."""
    kernel, stride, padding, ceil_mode, pads, divisor = options
    moved = shapes.pool_windows(
        f"avg_pool{count}d", shape, kernel, stride, padding, (1,), ceil_mode=ceil_mode, count=count
    )
    return moved, lambda shape: _counts(shape, moved, pads) if divisor is None else divisor


def _avg_pool(count: int) -> Callable[..., Callable[..., Any]]:
    def prepare(spec: OutputSpec, self: Array, *options: Any, **named: Any) -> Callable[..., Any]:
        moved, divisors = _moved_of(count, self.shape, _in_order(options, named))
        dtype = half_as_float(self.dtype)
        fit, add_up = make_pad(self.shape, _around(self.shape, moved)), _make_fold(moved)
        if dtype.kind != "f" or not spec.numel:
            return lambda self, *options, **named: _divide(add_up(fit(cast(self, dtype))), divisors(self.shape))
        by, is_small = np.asarray(divisors(self.shape), dtype), spec.numel <= _SMALL

        def compute(self: Array, *options: Any, **named: Any) -> Array:
            summed = add_up(fit(cast(self, dtype)))
            return np.true_divide(summed, by, None if is_small else summed)

        return compute

    return prepare


_NAMES: Final = ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override")
_DEFAULTS: Final = (None, (), (0,), False, True, None)


def _in_order(options: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
    rest = zip(_NAMES[len(options) :], _DEFAULTS[len(options) :], strict=True)
    return options + tuple(named.get(name, default) for name, default in rest)


def _avg_pool_backward(count: int) -> Kernel:
    def compute(spec: OutputSpec, grad: Array, self: Array, *options: Any) -> Any:
        moved, divisors = _moved_of(count, self.shape, options)
        found = _divide(cast(grad, half_as_float(grad.dtype)).copy(), divisors(self.shape))
        around = _around(self.shape, moved)
        for back, (kernel, step, size) in enumerate(
            zip(reversed(moved.kernel), reversed(moved.stride), reversed(moved.sizes), strict=True)
        ):
            dim = grad.ndim - 1 - back
            shape = list(found.shape)
            shape[dim] = self.shape[dim] + sum(around[-1 - back])
            wide = np.zeros(shape, found.dtype)
            after = (slice(None),) * back
            for start in range(kernel):
                wide[inner((slice(start, start + (size - 1) * step + 1, step), *after))] += found
            found = wide
        starts = zip(around, self.shape[-count:], strict=True)
        return found[inner(slice(before, before + size) for (before, _), size in starts)]

    return compute


for _count in (2, 3):
    _COMPUTE: dict[str, Kernel] = {
        f"avg_pool{_count}d_backward": _avg_pool_backward(_count),
    }
    for _name in ("max_pool{}d_with_indices", "adaptive_max_pool{}d", "fractional_max_pool{}d"):
        _COMPUTE[_name.format(_count) + "_backward"] = _indexed_backward(_count)
    KERNELS.update({name: make_kernel(name, compute) for name, compute in _COMPUTE.items()})
    for _name, _prepare in ((f"max_pool{_count}d_with_indices", _max_pool), (f"avg_pool{_count}d", _avg_pool)):
        KERNELS[_name] = make_prepared(_name, _prepare(_count))

#: Operator → its short way, and the options of ``Library.short_way``.
SHORT_WAYS: Final[dict[str, tuple[Kernel, dict[str, Any]]]] = {
    f"max_pool{count}d": (_max_of_windows(count), {"parts": (f"max_pool{count}d_with_indices",)}) for count in (2, 3)
}
