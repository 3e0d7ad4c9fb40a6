"""Short ways of sampling at the points of a grid: places in all dimensions at once, elements of some channels at a time."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Any, Final

import numpy as np

from ...arrays import Array
from ...fp_errors import run
from ...halves import TILE
from ..support.constants import NUMBERS, number
from ..support.reduce_ufuncs import SUM

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


def _sample(input: Array, grid: Array, mode: int, padding: int, align: bool) -> Any:
    """Return ``(channels, points)`` of one image at points ``(points, dimensions)``."""
    sizes, count = input.shape[1:], grid.shape[1]
    size, last, factor, least, span, steps = _columns(sizes, align, input.dtype)
    zero, one = number(0, grid), number(1, grid)
    # The last number of a point is its depth or height, the first its place in the width.
    places = (grid.T[::-1] + one) * factor
    if not align:
        places = (places - one) * number(0.5, grid)
    if padding == _REFLECTION:
        places = _reflect(places, least, span)
    if padding != _ZEROS:
        places = np.fmin(np.fmax(places, zero), last)
    if mode == _NEAREST:
        taken, share = np.round(places)[:, None], None
    else:
        low = np.floor(places)
        away = places - low
        taken = np.empty((count, 2, grid.shape[0]), input.dtype)
        share = np.empty_like(taken)
        taken[:, 0], share[:, 0] = low, one - away
        np.add(low, one, taken[:, 1])
        share[:, 1] = away
    inside = (taken >= zero) & (taken < size[:, None])
    index = np.fmin(np.fmax(taken, zero), last[:, None]).astype(np.int64)
    place = _combine(index * steps, np.add)
    weight = None if share is None else _combine(share, np.multiply)
    outside = None if inside.all() else ~_combine(inside, np.logical_and)
    flat = input.reshape(input.shape[0], -1)
    found = np.empty((input.shape[0], grid.shape[0]), input.dtype)
    tile = max(1, TILE // place.size)
    for start in range(0, len(flat), tile):
        part = slice(start, start + tile)
        seen = flat[part].take(place, 1)
        if outside is not None:
            np.copyto(seen, zero, where=outside)
        if weight is not None:
            seen *= weight
        SUM(seen, 1, None, found[part])
    return found


def _grid_sampler(input: Array, grid: Array, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Any:
    count = input.ndim - 2
    if input.dtype not in NUMBERS or grid.dtype is not input.dtype or not 0 <= interpolation_mode < _BICUBIC:
        return NotImplemented
    if count not in (2, 3) or grid.ndim != input.ndim or grid.shape[-1] != count or len(grid) != len(input):
        return NotImplemented
    if not input.size or not grid.size or not 0 <= padding_mode <= _REFLECTION:
        return NotImplemented
    if padding_mode == _REFLECTION and align_corners and 1 in input.shape[2:]:
        return NotImplemented
    options = (interpolation_mode, padding_mode, align_corners)
    found = np.empty((*input.shape[:2], *grid.shape[1:-1]), input.dtype)
    for image, points, made in zip(input, grid, found, strict=True):
        made[...] = run(_sample, image, points.reshape(-1, count), *options).reshape(made.shape)
    return found


_PARTS: Final = """
    _to_copy _unsafe_view abs add.Scalar add.Tensor cat clamp clone detach div.Scalar eq.Scalar expand floor fmod.Scalar
    gather ge.Scalar gt.Scalar lt.Scalar mul.Scalar mul.Tensor nan_to_num new_full ones_like remainder.Scalar reshape round
    rsub.Scalar select.int stack sub.Scalar sub.Tensor sum.dim_IntList unsqueeze view where.ScalarOther where.self
"""

#: Operator → its short way, and the options of ``Library.short_way``.
SHORT_WAYS: Final[dict[str, tuple[Callable[..., Any], dict[str, Any]]]] = {
    "grid_sampler": (_grid_sampler, {"parts": ("grid_sampler_2d", "grid_sampler_3d", *_PARTS.split())}),
    **{f"grid_sampler_{count}d": (_grid_sampler, {"parts": tuple(_PARTS.split())}) for count in (2, 3)},
}
