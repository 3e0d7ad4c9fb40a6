"""Sampling at the points of a grid, and its gradients: all places at once, elements of some channels at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any, Final, NamedTuple

import numpy as np

from dispatch_aten.decompositions import EXPLICIT

from ...arrays import Array
from ...fp_errors import quietly
from ...halves import TILE
from ...kernel_table import KernelTable
from ..support.constants import NUMBERS, number
from ..support.reduce_ufuncs import SUM

KERNELS: Final = KernelTable()

_NEAREST, _BICUBIC = 1, 2
_ZEROS, _REFLECTION = 0, 2


@lru_cache(maxsize=64)
def _columns(sizes: tuple[int, ...], align: bool, dtype: np.dtype[Any]) -> tuple[Any, ...]:
    """Return, for each dimension: size, last place, the factor of a coordinate, the least place and span of reflection."""
    count = len(sizes)
    last = [size - 1 for size in sizes]
    factor = [each / 2 for each in last] if align else sizes
    least = [0 if align else -0.5] * count
    span = last if align else sizes
    steps = [prod(sizes[dim + 1 :]) for dim in range(count)]
    columns = [np.array(each, dtype).reshape(count, 1) for each in (sizes, last, factor, least, span)]
    return *columns, np.array(steps).reshape(count, 1, 1)


def _reflect(places: Array, least: Array, span: Array) -> Any:
    away = np.absolute(places - least)
    extra = np.fmod(away, span)
    turns = np.floor(away / span)
    even = np.remainder(turns, number(2, turns)) == number(0, turns)
    return np.where(even, extra + least, (span + least) - extra)


def _combine(line: Array, join: Callable[[Any, Any], Any]) -> Any:
    """Join ``(dimensions, elements, points)`` to all combinations ``(corners, points)`` of each dimension's elements."""
    found = line[0]
    for each in line[1:]:
        found = join(found[:, None], each).reshape(-1, line.shape[2])
    return found


class _Elements(NamedTuple):
    """The elements around points: ``(corners, points)``, and what the weights are made of."""

    #: Places of all points before those outside are moved: ``(dimensions, points)``.
    moved: Array
    #: The weights along each dimension, ``(dimensions, 2, points)``; None for the nearest element.
    shares: Array | None
    place: Array
    #: Which elements are outside; None where none is.
    outside: Array | None

    def weigh(self) -> Array | None:
        """Return the weights of the elements, None where each is 1."""
        found: Array | None = None if self.shares is None else _combine(self.shares, np.multiply)
        return found


def _find_elements(sizes: tuple[int, ...], grid: Array, mode: int, padding: int, align: bool) -> _Elements:
    count = grid.shape[1]
    size, last, factor, least, span, steps = _columns(sizes, align, grid.dtype)
    zero, one = number(0, grid), number(1, grid)
    # The last number of a point is its depth or height, the first its place in the width.
    places = (grid.T[::-1] + one) * factor
    if not align:
        places = (places - one) * number(0.5, grid)
    moved = places
    if padding == _REFLECTION:
        places = _reflect(places, least, span)
    if padding != _ZEROS:
        places = np.fmin(np.fmax(places, zero), last)
    if mode == _NEAREST:
        taken, shares = np.round(places)[:, None], None
    else:
        low = np.floor(places)
        away = places - low
        taken = np.empty((count, 2, grid.shape[0]), grid.dtype)
        shares = np.empty_like(taken)
        taken[:, 0], shares[:, 0] = low, one - away
        np.add(low, one, taken[:, 1])
        shares[:, 1] = away
    inside = (taken >= zero) & (taken < size[:, None])
    index = np.fmin(np.fmax(taken, zero), last[:, None]).astype(np.int64)
    outside = None if inside.all() else ~_combine(inside, np.logical_and)
    return _Elements(moved, shares, _combine(index * steps, np.add), outside)


def _tiles(channels: int, place: Array) -> list[slice]:
    step = max(1, TILE // place.size)
    return [slice(start, start + step) for start in range(0, channels, step)]


def _take(flat: Array, elements: _Elements) -> Array:
    seen: Array = flat.take(elements.place, 1)
    if elements.outside is not None:
        np.copyto(seen, number(0, seen), where=elements.outside)
    return seen


def _sample(input: Array, grid: Array, mode: int, padding: int, align: bool) -> Any:
    """Return ``(channels, points)`` of one image at points ``(points, dimensions)``."""
    elements = _find_elements(input.shape[1:], grid, mode, padding, align)
    weight, flat = elements.weigh(), input.reshape(input.shape[0], -1)
    found = np.empty((input.shape[0], grid.shape[0]), input.dtype)
    for part in _tiles(len(flat), elements.place):
        seen = _take(flat[part], elements)
        if weight is not None:
            seen *= weight
        SUM(seen, 1, None, found[part])
    return found


def _slopes(moved: Array, sizes: tuple[int, ...], padding: int, align: bool) -> Any:
    """Return how far each place moves with the grid's number: ``(dimensions, points)``."""
    size, last, _, least, span, _ = _columns(sizes, align, moved.dtype)
    half, zero = number(0.5, moved), number(0, moved)
    found = np.empty_like(moved)
    found[...] = (last if align else size) * half
    if padding == _ZEROS:
        return found
    if padding == _REFLECTION:
        away = moved - least
        odd = np.remainder(np.floor(np.absolute(away) / span), number(2, moved)) != zero
        np.negative(found, found, where=odd != (away < zero))
        moved = _reflect(moved, least, span)
    return np.where((moved > zero) & (moved < last), found, zero)


def _differentiate(
    grad: Array,
    input: Array,
    grid: Array,
    options: tuple[int, int, bool],
    by_input: Array | None,
    by_grid: Array | None,
) -> None:
    """Add the gradient of one image to ``by_input``, and store that of its points in ``by_grid``."""
    sizes, mode = input.shape[1:], options[0]
    elements = _find_elements(sizes, grid, *options)
    weight, flat = elements.weigh(), input.reshape(input.shape[0], -1)
    along = np.zeros(elements.place.shape, input.dtype)
    for part in _tiles(len(flat), elements.place):
        slope = grad[part, None]
        if by_input is not None:
            values = np.broadcast_to(slope, (len(slope), *elements.place.shape))
            values = values.copy() if weight is None else values * weight
            if elements.outside is not None:
                np.copyto(values, number(0, values), where=elements.outside)
            into = by_input[part].reshape(-1)
            starts = np.arange(len(slope)).reshape(-1, 1, 1) * flat.shape[1]
            np.add.at(into, (starts + elements.place).reshape(-1), values.reshape(-1))
        if by_grid is not None and mode != _NEAREST:
            along += SUM(_take(flat[part], elements) * slope, 0)
    if by_grid is None:
        return
    if elements.shares is None:
        by_grid[...] = 0
        return
    slopes = _slopes(elements.moved, sizes, options[1], options[2])
    for dim, slope in enumerate(slopes):
        shares = elements.shares.copy()
        np.negative(slope, shares[dim, 0])
        shares[dim, 1] = slope
        SUM(_combine(shares, np.multiply) * along, 0, None, by_grid[:, len(slopes) - 1 - dim])


def _is_simple(input: Array, grid: Array, mode: int, padding: int, align: bool) -> bool:
    """Return whether arrays and options are right, and such as the functions above take."""
    count = input.ndim - 2
    return (
        input.dtype in NUMBERS
        and grid.dtype is input.dtype
        and 0 <= mode < _BICUBIC
        and 0 <= padding <= _REFLECTION
        and count in (2, 3)
        and grid.ndim == input.ndim
        and grid.shape[-1] == count
        and len(grid) == len(input)
        and bool(input.size and grid.size)
        and not (padding == _REFLECTION and align and 1 in input.shape[2:])
    )


def sample_simply(input: Array, grid: Array, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Any:
    """Return samples of images or volumes, ``NotImplemented`` for arguments that are wrong or not simple."""
    options = (interpolation_mode, padding_mode, align_corners)
    if not _is_simple(input, grid, *options):
        return NotImplemented
    found = np.empty((*input.shape[:2], *grid.shape[1:-1]), input.dtype)
    for image, points, made in zip(input, grid, found, strict=True):
        made[...] = quietly(_sample, image, points.reshape(-1, grid.shape[-1]), *options).reshape(made.shape)
    return found


def _make_sampler(count: int) -> Callable[..., Any]:
    name = f"grid_sampler_{count}d"

    def kernel(input: Array, grid: Array, *options: Any) -> Any:
        found = sample_simply(input, grid, *options) if input.ndim == count + 2 else NotImplemented
        return EXPLICIT[name](input, grid, *options) if found is NotImplemented else found

    return kernel


def _make_gradient(count: int) -> Callable[..., Any]:
    name = f"grid_sampler_{count}d_backward"

    def kernel(
        grad_output: Array, input: Array, grid: Array, mode: int, padding: int, align: bool, output_mask: Sequence[bool]
    ) -> Any:
        options, dtype = (mode, padding, align), input.dtype
        is_simple = grad_output.dtype is dtype and input.ndim == count + 2 and _is_simple(input, grid, *options)
        if not is_simple or grad_output.shape != (*input.shape[:2], *grid.shape[1:-1]):
            return EXPLICIT[name](grad_output, input, grid, *options, output_mask)
        by_input = np.zeros(input.shape, dtype) if output_mask[0] else None
        by_grid = np.empty(grid.shape, dtype) if output_mask[1] else None
        points = prod(grid.shape[1:-1])
        for batch, (grad, image, each) in enumerate(zip(grad_output, input, grid, strict=True)):
            quietly(
                _differentiate,
                *(grad.reshape(-1, points), image, each.reshape(points, count), options),
                None if by_input is None else by_input[batch].reshape(len(image), -1),
                None if by_grid is None else by_grid[batch].reshape(points, count),
            )
        return by_input, by_grid

    return kernel


for _count in (2, 3):
    KERNELS[f"grid_sampler_{_count}d"] = _make_sampler(_count)
    KERNELS[f"grid_sampler_{_count}d_backward"] = _make_gradient(_count)
