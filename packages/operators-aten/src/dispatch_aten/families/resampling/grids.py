"""Sampling of images at the points of a grid, and the grids of affine maps (source: ``grid_sampler``).

The elements around every point are gathered at once and weighted, so that both the image and the grid have gradients.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import TYPE_CHECKING

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, aten, cast
from dispatch_aten.dtypes import int64
from dispatch_aten.errors import OperatorError, ShapeError
from dispatch_aten.shapes.refusals import refuse_kinds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_BILINEAR, _NEAREST, _BICUBIC = range(3)
_ZEROS, _BORDER, _REFLECTION = range(3)


def cubic_weights(share: Array) -> list[Array]:
    """Return the weights of the four elements around a point, of the cubic convolution kernel with ``a = -0.75``."""
    a = -0.75

    def near(x: Array) -> Array:
        inner = aten.sub.Scalar(aten.mul.Scalar(x, a + 2), a + 3)
        return aten.add.Scalar(aten.mul.Tensor(aten.mul.Tensor(inner, x), x), 1)

    def far(x: Array) -> Array:
        inner = aten.mul.Tensor(aten.sub.Scalar(aten.mul.Scalar(x, a), 5 * a), x)
        return aten.sub.Scalar(aten.mul.Tensor(aten.add.Scalar(inner, 8 * a), x), 4 * a)

    other = aten.rsub.Scalar(share, 1)
    return [far(aten.add.Scalar(share, 1)), near(share), near(other), far(aten.add.Scalar(other, 1))]


def _check(input: Array, grid: Array, mode: int, count: int | None) -> int:
    """Return the number of dimensions that are sampled, or raise torch's error."""
    shape, points = dc.shape(input), dc.shape(grid)
    both = f"but got input with sizes {list(shape)} and grid with sizes {list(points)}"
    if not shape or not points or shape[0] != points[0]:
        raise ShapeError(f"grid_sampler(): expected grid and input to have same batch size, {both}", argument="grid")
    if points[-1] != len(shape) - 2:
        raise ShapeError(
            f"grid_sampler(): expected grid to have size {len(shape) - 2} in last dimension, but got grid with sizes "
            f"{list(points)}",
            argument="grid",
        )
    for dim, size in enumerate(shape[2:], 2):
        if not size:
            raise ShapeError(
                "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes "
                f"{list(shape)} with dimension {dim} being empty",
                argument="input",
            )
    wanted = (4, 5) if count is None else (count + 2,)
    if len(shape) not in wanted or len(points) != len(shape):
        ranks = " or ".join(f"{each}D" for each in wanted)
        raise ShapeError(
            f"grid_sampler(): expected {ranks} input and grid with same number of dimensions, {both}", argument="grid"
        )
    if len(shape) == 5 and mode == _BICUBIC:
        raise OperatorError(
            "grid_sampler(): bicubic interpolation only supports 4D input", argument="interpolation_mode"
        )
    if dc.dtype(input) != dc.dtype(grid):
        raise OperatorError(
            f"expected scalar type {dc.dtype(input).name} but found {dc.dtype(grid).name}", argument="grid"
        )
    refuse_kinds(f"grid_sampler_{len(shape) - 2}d_cpu_kernel_impl", "bic", dc.dtype(input))
    return len(shape) - 2


def _to_places(line: Array, size: int, align: bool) -> Array:
    """Return coordinates from -1 to 1 as places in a dimension of ``size``."""
    moved = aten.add.Scalar(line, 1)
    if align:
        return aten.mul.Scalar(moved, (size - 1) / 2)
    return aten.mul.Scalar(aten.sub.Scalar(aten.mul.Scalar(moved, size), 1), 0.5)


def _reflect(places: Array, size: int, align: bool) -> Array:
    low, high = (0, 2 * (size - 1)) if align else (-1, 2 * size - 1)
    if low == high:
        # Still a function of the grid, which has a gradient of zero.
        return aten.mul.Scalar(places, 0)
    least, span = low / 2, (high - low) / 2
    away = aten.abs.default(aten.sub.Scalar(places, least))
    extra = aten.fmod.Scalar(away, span)
    turns = aten.floor.default(aten.div.Scalar(aten.detach.default(away), span))
    even = aten.eq.Scalar(aten.remainder.Scalar(turns, 2), 0)
    return aten.where.self(even, aten.add.Scalar(extra, least), aten.rsub.Scalar(extra, span + least))


def _keep_inside(places: Array, size: int, padding: int, align: bool) -> Array:
    if padding == _ZEROS:
        return places
    if padding == _REFLECTION:
        places = _reflect(places, size, align)
    kept = _to_first(aten.clamp.default(places, 0, size - 1))
    # Unlike ``clamp``, no gradient flows at the first and the last place.
    inner = aten.mul.Tensor(aten.gt.Scalar(places, 0), aten.lt.Scalar(places, size - 1))
    return aten.where.self(inner, kept, aten.detach.default(kept))


def _to_first(places: Array) -> Array:
    """Return the places, the first one for those that are nan."""
    return aten.nan_to_num.default(places, 0.0, None, None)


#: For one dimension: places (whole numbers, in the grid's dtype) and their weights.
_Line = list[tuple[Array, Array]]


def _make_line(line: Array, size: int, mode: int, padding: int, align: bool) -> _Line:
    """Return the elements that the points of a grid take along one dimension."""
    places = _to_places(line, size, align)
    if mode == _BICUBIC:
        lowest = aten.floor.default(aten.detach.default(places))
        weights = cubic_weights(aten.sub.Tensor(places, lowest))
        taps = [aten.add.Scalar(lowest, step) for step in (-1, 0, 1, 2)]
        return [(_keep_inside(tap, size, padding, align), weight) for tap, weight in zip(taps, weights, strict=True)]
    places = _keep_inside(places, size, padding, align)
    if mode == _NEAREST:
        # A weight of one, through which the grid has its gradient of zero.
        weight = aten.add.Scalar(aten.mul.Scalar(_to_first(aten.clamp.default(places, 0, size - 1)), 0), 1)
        return [(aten.round.default(aten.detach.default(places)), weight)]
    lowest = aten.floor.default(aten.detach.default(places))
    share = aten.sub.Tensor(places, lowest)
    return [(lowest, aten.rsub.Scalar(share, 1)), (aten.add.Scalar(lowest, 1), share)]


def _sample(
    input: Array, grid: Array, interpolation_mode: int, padding_mode: int, align_corners: bool, count: int
) -> Array:
    batch, channels, *sizes = dc.shape(input)
    made = dc.shape(grid)[1:-1]
    points = prod(made)
    flat = aten.reshape.default(grid, [batch, points, count])
    # The last number of a point is its depth or height, the first its place in the width.
    lines = [
        _make_line(aten.select.int(flat, 2, count - 1 - dim), size, interpolation_mode, padding_mode, align_corners)
        for dim, size in enumerate(sizes)
    ]
    places, weights, inside = [], [], []
    for corner in product(*lines):
        place = weight = held = None
        for size, (each, share) in zip(sizes, corner, strict=True):
            within = aten.mul.Tensor(aten.ge.Scalar(each, 0), aten.lt.Scalar(each, size))
            index = cast(_to_first(aten.clamp.default(each, 0, size - 1)), int64)
            place = index if place is None else aten.add.Tensor(aten.mul.Scalar(place, size), index)
            held = within if held is None else aten.mul.Tensor(held, within)
            weight = share if weight is None else aten.mul.Tensor(weight, share)
        places.append(place)
        inside.append(held)
        weights.append(weight)
    several = len(places)
    index = aten.reshape.default(aten.stack.default(places, 1), [batch, 1, several * points])
    index = aten.expand.default(index, [batch, channels, several * points])
    taken = aten.gather.default(aten.reshape.default(input, [batch, channels, prod(sizes)]), 2, index)
    taken = aten.reshape.default(taken, [batch, channels, several, points])
    kept = aten.unsqueeze.default(aten.stack.default(inside, 1), 1)
    taken = aten.where.ScalarOther(kept, taken, 0)
    taken = aten.mul.Tensor(taken, aten.unsqueeze.default(aten.stack.default(weights, 1), 1))
    return aten._unsafe_view.default(aten.sum.dim_IntList(taken, [2]), [batch, channels, *made])


def _grid_sampler(count: int | None) -> Callable[..., Array]:
    def kernel(input: Array, grid: Array, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Array:
        dims = _check(input, grid, interpolation_mode, count)
        return _sample(input, grid, interpolation_mode, padding_mode, align_corners, dims)

    return kernel


def _coordinates(theta: Array, size: int, align_corners: bool) -> Array:
    """Return the middles of ``size`` parts of the way from -1 to 1, or with ``align_corners`` its ends included."""
    if size == 1:
        return aten.new_zeros.default(theta, [1])
    line = dc.wrap_like(theta, aten.linspace.default(-1, 1, size, dtype=dc.dtype(theta), device=dc.device(theta)))
    return line if align_corners else aten.div.Scalar(aten.mul.Scalar(line, size - 1), size)


def _affine_grid_generator(theta: Array, size: Sequence[int], align_corners: bool) -> Array:
    if len(size) not in (4, 5):
        raise ShapeError("AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.", argument="size")
    batch, _, *sizes = size
    count = len(sizes)
    lines = []
    for dim in range(count - 1, -1, -1):
        line = _coordinates(theta, sizes[dim], align_corners)
        line = aten.reshape.default(line, [-1 if each == dim else 1 for each in range(count)])
        lines.append(aten.expand.default(line, sizes))
    lines.append(aten.new_ones.default(theta, sizes))
    base = aten.reshape.default(aten.stack.default(lines, count), [1, prod(sizes), count + 1])
    base = aten.expand.default(base, [batch, prod(sizes), count + 1])
    found = aten.bmm.default(base, aten.transpose.int(theta, 1, 2))
    return aten.reshape.default(found, [batch, *sizes, count])
