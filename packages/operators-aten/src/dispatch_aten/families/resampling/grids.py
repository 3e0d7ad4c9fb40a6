"""Sampling of images at the points of a grid, and the grids of affine maps (source: ``grid_sampler``).

The elements around every point are gathered at once and weighted, so that both the image and the grid have gradients.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, aten, cast, meta_of, overload, widen
from dispatch_aten.dtypes import int64
from dispatch_aten.errors import ShapeError
from dispatch_aten.families.resampling.grid_shapes import BICUBIC, check_grid
from dispatch_aten.shapes import RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_NEAREST = 1
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


def _cubic_slopes(share: Array) -> list[Array]:
    """Return the derivatives of `cubic_weights`."""
    a = -0.75

    def near(x: Array) -> Array:
        return aten.mul.Tensor(aten.sub.Scalar(aten.mul.Scalar(x, 3 * (a + 2)), 2 * (a + 3)), x)

    def far(x: Array) -> Array:
        return aten.add.Scalar(aten.mul.Tensor(aten.sub.Scalar(aten.mul.Scalar(x, 3 * a), 10 * a), x), 8 * a)

    other = aten.rsub.Scalar(share, 1)
    after = [aten.neg.default(each) for each in (near(other), far(aten.add.Scalar(other, 1)))]
    return [far(aten.add.Scalar(share, 1)), near(share), *after]


def _cubic_curves(share: Array) -> list[Array]:
    """Return the second derivatives of `cubic_weights`."""
    a = -0.75

    def near(x: Array) -> Array:
        return aten.sub.Scalar(aten.mul.Scalar(x, 6 * (a + 2)), 2 * (a + 3))

    def far(x: Array) -> Array:
        return aten.sub.Scalar(aten.mul.Scalar(x, 6 * a), 10 * a)

    other = aten.rsub.Scalar(share, 1)
    return [far(aten.add.Scalar(share, 1)), near(share), near(other), far(aten.add.Scalar(other, 1))]


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


class _Axis:
    """The elements that the points of a grid take along one dimension: where they are, and what they count."""

    def __init__(self, line: Array, size: int, mode: int, padding: int, align: bool) -> None:
        self._options = size, padding, align
        self._mode, self._step = mode, (size - 1) / 2 if align else size / 2
        self._moved = places = _to_places(line, size, align)
        if mode == BICUBIC:
            lowest = aten.floor.default(aten.detach.default(places))
            taps = [aten.add.Scalar(lowest, tap) for tap in (-1, 0, 1, 2)]
            self.places = [_keep_inside(tap, size, padding, align) for tap in taps]
        else:
            places = _keep_inside(places, size, padding, align)
            if mode == _NEAREST:
                self.places = [aten.round.default(aten.detach.default(places))]
                return
            lowest = aten.floor.default(aten.detach.default(places))
            self.places = [lowest, aten.add.Scalar(lowest, 1)]
        self._share = aten.sub.Tensor(places, lowest)

    def weigh(self, order: int) -> list[Array] | None:
        """Return the weights, or their first or second derivatives by the grid's numbers; None where these are zero."""
        if self._mode == BICUBIC:
            weights = (cubic_weights, _cubic_slopes, _cubic_curves)[order](self._share)
            return [aten.mul.Scalar(each, self._step**order) for each in weights] if order else weights
        if self._mode == _NEAREST:
            return None if order else [aten.ones_like.default(self._moved)]
        if order:
            return None if order > 1 else self._slopes()
        return [aten.rsub.Scalar(self._share, 1), self._share]

    def _slopes(self) -> list[Array]:
        slope = _slope(self._moved, *self._options, self._step)
        return [aten.neg.default(slope), slope]


def _slope(places: Array, size: int, padding: int, align: bool, step: float) -> Array:
    """Return how far a place moves with the grid's number."""
    found = aten.full_like.default(places, step)
    if padding == _ZEROS:
        return found
    if padding == _REFLECTION:
        least, span = (0.0, float(size - 1)) if align else (-0.5, float(size))
        if not span:
            return aten.zeros_like.default(places)
        away = aten.sub.Scalar(places, least)
        turns = aten.floor.default(aten.div.Scalar(aten.abs.default(away), span))
        even = aten.eq.Scalar(aten.remainder.Scalar(turns, 2), 0)
        turned = aten.ne.Tensor(even, aten.ge.Scalar(away, 0))
        found = aten.where.self(turned, aten.neg.default(found), found)
        places = _reflect(places, size, align)
    inner = aten.mul.Tensor(aten.gt.Scalar(places, 0), aten.lt.Scalar(places, size - 1))
    return aten.where.ScalarOther(inner, found, 0)


class GridPoints:
    """The elements of images, or volumes, around the points of a grid, all of them at once: ``(n, c, elements, points)``."""

    def __init__(self, sizes: Sequence[int], grid: Array, mode: int, padding: int, align: bool) -> None:
        self.sizes, count = sizes, len(sizes)
        self.batch, *self.made, _ = dc.shape(grid)
        self.points = prod(self.made)
        flat = aten.reshape.default(grid, [self.batch, self.points, count])
        # The last number of a point is its depth or height, the first its place in the width.
        lines = [aten.select.int(flat, 2, count - 1 - dim) for dim in range(count)]
        self._axes = [_Axis(line, size, mode, padding, align) for line, size in zip(lines, sizes, strict=True)]
        places, inside = [], []
        for corner in product(*[axis.places for axis in self._axes]):
            place = held = None
            for size, each in zip(sizes, corner, strict=True):
                within = aten.mul.Tensor(aten.ge.Scalar(each, 0), aten.lt.Scalar(each, size))
                index = cast(_to_first(aten.clamp.default(each, 0, size - 1)), int64)
                place = index if place is None else aten.add.Tensor(aten.mul.Scalar(place, size), index)
                held = within if held is None else aten.mul.Tensor(held, within)
            places.append(place)
            inside.append(held)
        self._several = len(places)
        self._index = aten.reshape.default(aten.stack.default(places, 1), [self.batch, 1, self._several * self.points])
        self._kept = aten.unsqueeze.default(aten.stack.default(inside, 1), 1)

    def weigh(self, *dims: int) -> Array | None:
        """Return the weights, or their derivatives by the numbers of some dimensions; None where all are zero."""
        chosen = []
        for number, axis in enumerate(self._axes):
            shares = axis.weigh(dims.count(number))
            if shares is None:
                return None
            chosen.append(shares)
        weights = []
        for corner in product(*chosen):
            weight = corner[0]
            for share in corner[1:]:
                weight = aten.mul.Tensor(weight, share)
            weights.append(weight)
        return aten.unsqueeze.default(aten.stack.default(weights, 1), 1)

    def _expand(self, channels: int) -> Array:
        return aten.expand.default(self._index, [self.batch, channels, self._several * self.points])

    def take(self, input: Array) -> Array:
        """Return the elements, zero outside."""
        channels = dc.shape(input)[1]
        flat = aten.reshape.default(input, [self.batch, channels, prod(self.sizes)])
        taken = aten.gather.default(flat, 2, self._expand(channels))
        taken = aten.reshape.default(taken, [self.batch, channels, self._several, self.points])
        return aten.where.ScalarOther(self._kept, taken, 0)

    def sum_up(self, values: Array) -> Array:
        """Return the sums of elements, laid out as the grid."""
        channels = dc.shape(values)[1]
        return aten._unsafe_view.default(aten.sum.dim_IntList(values, [2]), [self.batch, channels, *self.made])

    def send(self, values: Array) -> Array:
        """Return images to which the elements' values are added."""
        channels = dc.shape(values)[1]
        kept = aten.where.ScalarOther(self._kept, values, 0)
        flat = aten.reshape.default(kept, [self.batch, channels, self._several * self.points])
        fresh = aten.new_zeros.default(values, [self.batch, channels, prod(self.sizes)])
        sent = aten.scatter_add.default(fresh, 2, self._expand(channels), flat)
        return aten.reshape.default(sent, [self.batch, channels, *self.sizes])

    def spread(self, grad: Array) -> Array:
        """Return the gradient of the result for each of a point's elements: ``(n, c, 1, points)``."""
        return aten.reshape.default(grad, [self.batch, dc.shape(grad)[1], 1, self.points])

    def join(self, lines: Sequence[Array | None], like: Array) -> Array:
        """Return a gradient of the grid from those of its numbers, by dimension: ``(n, 1, elements, points)`` each."""
        sums = [
            aten.new_zeros.default(like, [self.batch, self.points])
            if line is None
            else aten.reshape.default(aten.sum.dim_IntList(line, [2]), [self.batch, self.points])
            for line in lines
        ]
        return aten.reshape.default(aten.stack.default(sums[::-1], 2), [self.batch, *self.made, len(self.sizes)])


def _grid_sampler(input: Array, grid: Array, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Array:
    count = check_grid(meta_of(input), meta_of(grid), interpolation_mode, None)
    return overload(f"grid_sampler_{count}d")(input, grid, interpolation_mode, padding_mode, align_corners)


def _sample(name: str) -> Callable[..., Array]:
    def kernel(input: Array, grid: Array, *options: Any) -> Array:
        RULES[name](meta_of(input), meta_of(grid), *options)
        points = GridPoints(dc.shape(input)[2:], widen(grid), *options)
        weights = points.weigh()
        assert weights is not None
        return cast(points.sum_up(aten.mul.Tensor(points.take(widen(input)), weights)), dc.dtype(input))

    return kernel


def _sample_backward(name: str) -> Callable[..., tuple[Array | None, Array | None]]:
    def kernel(
        grad_output: Array, input: Array, grid: Array, mode: int, padding: int, align: bool, output_mask: Sequence[bool]
    ) -> tuple[Array | None, Array | None]:
        metas = meta_of(grad_output), meta_of(input), meta_of(grid)
        RULES[name](*metas, mode, padding, align, output_mask)
        points = GridPoints(dc.shape(input)[2:], widen(grid), mode, padding, align)
        grad, by_input, by_grid = points.spread(widen(grad_output)), None, None
        if output_mask[0]:
            weights = points.weigh()
            assert weights is not None
            by_input = cast(points.send(aten.mul.Tensor(grad, weights)), dc.dtype(input))
        if output_mask[1]:
            slopes = [points.weigh(dim) for dim in range(len(points.sizes))]
            lines: list[Array | None] = [None] * len(slopes)
            if slopes[0] is not None:
                along = aten.sum.dim_IntList(aten.mul.Tensor(grad, points.take(widen(input))), [1], True)
                lines = [None if slope is None else aten.mul.Tensor(along, slope) for slope in slopes]
            by_grid = cast(points.join(lines, widen(grid)), dc.dtype(grid))
        return by_input, by_grid

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
