"""Interpolation along one dimension after another, and pixels that change places with channels.

Each element of the result is a sum of a few elements of the input, with weights: a list of places and one of weights for
each. The gradient goes back by the same numbers as a matrix.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, arange_like, aten, cast, meta_of, ndim, numel, overload, prims
from dispatch_aten.dtypes import ScalarType, float32, int32, int64, uint8
from dispatch_aten.errors import OperatorError, ShapeError
from dispatch_aten.families.padding.composites import in_format
from dispatch_aten.families.resampling.grids import cubic_weights
from dispatch_aten.families.resampling.shapes import RESAMPLERS, ignored_scales, scale_sizes
from dispatch_aten.fixed_point import integer_taps
from dispatch_aten.shapes import RULES
from dispatch_aten.shapes.meta import suggests_channels_last

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

#: Places and weights: one array, of the result's size along the dimension, for each element that is summed.
_Taps = tuple[list[Array], list[Array]]


def _ratio(size: int, wanted: int, align: bool, scale: float | None) -> float:
    """Return how far one step in the result goes in the input."""
    if align:
        return (size - 1) / (wanted - 1) if wanted > 1 else 0.0
    return 1.0 / scale if scale is not None and scale > 0 else size / wanted


def _nearest(numbers: Array, size: int, ratio: float, *, exact: bool) -> _Taps:
    places = aten.mul.Scalar(aten.add.Scalar(numbers, 0.5) if exact else numbers, ratio)
    return [aten.clamp_max.default(cast(places, int64), size - 1)], []


def _centers(numbers: Array, ratio: float, align: bool) -> Array:
    if align:
        return aten.mul.Scalar(numbers, ratio)
    return aten.sub.Scalar(aten.mul.Scalar(aten.add.Scalar(numbers, 0.5), ratio), 0.5)


def _linear(numbers: Array, size: int, ratio: float, align: bool, held: ScalarType) -> _Taps:
    places = aten.clamp_min.default(_centers(numbers, ratio, align), 0)
    first = aten.clamp_max.default(cast(places, int64), size - 1)
    # torch rounds one share to the dtype of the elements, and takes the other from it.
    share = cast(aten.clamp.default(aten.sub.Tensor(places, first), 0, 1), held)
    share = cast(share, dc.dtype(numbers))
    second = aten.clamp_max.default(aten.add.Scalar(first, 1), size - 1)
    return [first, second], [aten.rsub.Scalar(share, 1), share]


def _cubic(numbers: Array, size: int, ratio: float, align: bool) -> _Taps:
    places = _centers(numbers, ratio, align)
    lowest = aten.floor.default(places)
    first = cast(lowest, int64)
    taps = [aten.clamp.default(aten.add.Scalar(first, step), 0, size - 1) for step in (-1, 0, 1, 2)]
    return taps, cubic_weights(aten.sub.Tensor(places, lowest))


def _triangle(x: Array) -> Array:
    return aten.clamp_min.default(aten.rsub.Scalar(aten.abs.default(x), 1), 0)


def _smooth_cubic(x: Array) -> Array:
    """Return the cubic convolution kernel with ``a = -0.5``."""
    x = aten.abs.default(x)
    near = aten.mul.Tensor(aten.mul.Tensor(aten.sub.Scalar(aten.mul.Scalar(x, 1.5), 2.5), x), x)
    far = aten.rsub.Scalar(aten.mul.Scalar(x, 0.5), 2.5)
    far = aten.rsub.Scalar(aten.mul.Tensor(aten.rsub.Scalar(aten.mul.Tensor(far, x), 4), x), 2)
    near = aten.add.Scalar(near, 1)
    return aten.where.self(aten.lt.Scalar(x, 1), near, aten.where.ScalarOther(aten.lt.Scalar(x, 2), far, 0))


def _sinc(x: Array) -> Array:
    turned = aten.mul.Scalar(x, math.pi)
    whole = aten.eq.Scalar(turned, 0)
    return aten.where.ScalarSelf(
        whole, 1, aten.div.Tensor(aten.sin.default(turned), aten.masked_fill.Scalar(turned, whole, 1))
    )


def _lanczos(x: Array) -> Array:
    inside = aten.lt.Scalar(aten.abs.default(x), 3)
    return aten.where.ScalarOther(inside, aten.mul.Tensor(_sinc(x), _sinc(aten.div.Scalar(x, 3))), 0)


_SMOOTH: Final = {"smooth linear": (1, _triangle), "smooth cubic": (2, _smooth_cubic), "smooth lanczos": (3, _lanczos)}


def _smooth(numbers: Array, size: int, ratio: float, kind: str) -> _Taps:
    """Return weights of a kernel as wide as a step of the result, so that nothing is skipped where it is smaller."""
    half, kernel = _SMOOTH[kind]
    support = half * max(ratio, 1.0)
    center = aten.mul.Scalar(aten.add.Scalar(numbers, 0.5), ratio)
    start = aten.clamp_min.default(cast(aten.add.Scalar(aten.sub.Scalar(center, support), 0.5), int64), 0)
    stop = aten.clamp_max.default(cast(aten.add.Scalar(aten.add.Scalar(center, support), 0.5), int64), size)
    taps, weights = [], []
    for step in range(math.ceil(support) * 2 + 1):
        place = aten.add.Scalar(start, step)
        away = aten.add.Scalar(aten.sub.Tensor(cast(place, dc.dtype(numbers)), center), 0.5)
        weight = kernel(aten.mul.Scalar(away, 1.0 / ratio if ratio >= 1 else 1.0))
        weights.append(aten.where.ScalarOther(aten.lt.Tensor(place, stop), weight, 0))
        taps.append(aten.clamp_max.default(place, size - 1))
    total = weights[0]
    for weight in weights[1:]:
        total = aten.add.Tensor(total, weight)
    return taps, [aten.div.Tensor(weight, total) for weight in weights]


def _make_taps(like: Array, kind: str, size: int, wanted: int, align: bool, scale: float | None) -> _Taps | None:
    """Return the places and weights along a dimension of ``size``; None where nothing changes."""
    ratio = _ratio(size, wanted, align, scale)
    if size == wanted and (ratio == 1 or (align and size == 1)):
        return None
    dtype = _computes_in(dc.dtype(like))
    numbers = cast(arange_like(like, wanted), dtype)
    if kind in ("nearest", "exact"):
        return _nearest(numbers, size, ratio, exact=kind == "exact")
    if kind in _SMOOTH:
        return _smooth(numbers, size, ratio, kind)
    if kind == "linear":
        held = dc.dtype(like) if dc.dtype(like).is_floating_point else dtype
        return _linear(numbers, size, ratio, align, held)
    return _cubic(numbers, size, ratio, align)


def _computes_in(dtype: ScalarType) -> ScalarType:
    return dtype if dtype.is_floating_point and dtype.itemsize >= 4 else float32


def _column(values: Array, dim: int, count: int) -> Array:
    return aten.reshape.default(values, [-1 if each == dim else 1 for each in range(count)])


def _options(kind: str, given: Sequence[Any], count: int) -> tuple[bool, Sequence[float | None]]:
    """Return ``align_corners`` and a scale for each dimension."""
    align = False
    if kind not in ("nearest", "exact"):
        align, *given = given
    return align, [*given, *[None] * count][:count]


def _resample(name: str) -> Callable[..., Array]:
    count, kind = RESAMPLERS[name]

    def kernel(self: Array, output_size: Sequence[int], *given: Any) -> Array:
        made = RULES[name](meta_of(self), output_size, *given)
        if not numel(self):
            return aten.new_empty_strided.default(self, made.shape, made.strides)
        align, scales = _options(kind, given, count)
        selects = kind in ("nearest", "exact")
        if made.dtype is uint8 and not selects:
            return in_format(_resample_pixels(self, made.shape, kind, align, scales), made)
        if kind == "nearest" and any(scales):
            ignored = ignored_scales(dc.shape(self), meta_of(self).strides, output_size)
            scales = [None if skip else scale for skip, scale in zip(ignored, scales, strict=True)]
        found = self if selects else cast(self, _computes_in(made.dtype))
        for dim in range(count + 1, 1, -1):
            taps = _make_taps(self, kind, dc.shape(self)[dim], made.shape[dim], align, scales[dim - 2])
            if taps is not None:
                found = _sum_taps(found, dim, made.dtype, *taps)
        if found is self:
            found = aten.clone.default(self)
        return in_format(cast(found, made.dtype), made)

    return kernel


def _resample_pixels(
    self: Array, shape: Sequence[int], kind: str, align: bool, scales: Sequence[float | None]
) -> Array:
    """Return an image of uint8 whose passes along changed dimensions round to uint8 each."""
    found = self
    for dim in (3, 2):
        size, wanted = dc.shape(self)[dim], shape[dim]
        if size == wanted:
            continue
        taps = integer_taps(kind, size, wanted, _ratio(size, wanted, align, scales[dim - 2]), align)
        places, weights = (_constant(self, lines) for lines in (taps.places, taps.weights))
        total = _constant(self, 1 << (taps.shift - 1))
        for step in range(len(taps.places)):
            place, weight = (aten.select.int(each, 0, step) for each in (places, weights))
            term = cast(aten.index_select.default(found, dim, place), int32)
            total = aten.add.Tensor(total, aten.mul.Tensor(term, _column(weight, dim, 4)))
        total = aten.bitwise_right_shift.Tensor_Scalar(total, taps.shift)
        found = cast(aten.clamp.default(total, 0, 255), uint8)
    return aten.clone.default(self) if found is self else found


def _constant(like: Array, values: Any) -> Array:
    import numpy as np  # as the device's kernel takes them

    array = np.array(values, np.int32)
    return dc.wrap_like(like, prims.device_put.default(array, device=dc.device(like)))


def _sum_taps(self: Array, dim: int, dtype: ScalarType, places: list[Array], weights: list[Array]) -> Array:
    found = None
    for number, place in enumerate(places):
        term = aten.index_select.default(self, dim, place)
        if weights:
            weight = cast(cast(weights[number], dtype), dc.dtype(self))  # rounded as torch keeps it
            term = aten.mul.Tensor(term, _column(weight, dim, ndim(self)))
        found = term if found is None else aten.add.Tensor(found, term)
    return found


def send_back(grad: Array, dim: int, size: int, places: Array, weights: Array) -> Array:
    """Return the gradient along one dimension: the product with the matrix of the weights.

    ``places`` and ``weights`` say, line by line, which elements of the input an element of the result is summed of.
    """
    wanted = dc.shape(grad)[dim]
    rows = aten.unsqueeze.default(aten.mul.Scalar(arange_like(grad, wanted), size), 1)
    index = aten.reshape.default(aten.add.Tensor(rows, places), [-1])
    fresh = aten.new_zeros.default(grad, [wanted * size])
    flat = aten.index_add.default(fresh, 0, index, aten.reshape.default(cast(weights, dc.dtype(grad)), [-1]))
    matrix = aten.view.default(flat, [wanted, size])
    if dim == ndim(grad) - 1:
        return aten.matmul.default(grad, matrix)
    shape = dc.shape(grad)
    after = math.prod(shape[dim + 1 :])
    lines = aten.reshape.default(grad, [*shape[:dim], wanted, after])
    found = aten.matmul.default(aten.t.default(matrix), lines)
    return aten.reshape.default(found, [*shape[:dim], size, *shape[dim + 1 :]])


def _resample_backward(name: str) -> Callable[..., Array]:
    count, kind = RESAMPLERS[name]

    def kernel(grad_output: Array, output_size: Sequence[int], input_size: Sequence[int], *given: Any) -> Array:
        made = RULES[f"{name}_backward"](meta_of(grad_output), output_size, input_size, *given)
        if not numel(grad_output):
            return aten.new_zeros.default(grad_output, made.shape)
        align, scales = _options(kind, given, count)
        found = cast(grad_output, _computes_in(made.dtype))
        for dim in range(2, count + 2):
            size, wanted, scale = made.shape[dim], output_size[dim - 2], scales[dim - 2]
            even = wanted % size == 0 and _ratio(size, wanted, align, scale) == size / wanted
            if kind in ("nearest", "exact") and even:
                if wanted != size:
                    shape = dc.shape(found)
                    parts = aten.reshape.default(found, [*shape[:dim], size, wanted // size, *shape[dim + 1 :]])
                    found = aten.sum.dim_IntList(parts, [dim + 1])
                continue
            taps = _make_taps(grad_output, kind, size, wanted, align, scale)
            if taps is not None:
                places = aten.stack.default(taps[0], 1)
                weights = aten.stack.default(taps[1], 1) if taps[1] else aten.ones_like.default(places)
                found = send_back(found, dim, size, places, weights)
        if found is grad_output:
            found = aten.clone.default(found)
        return in_format(cast(found, made.dtype), made)

    return kernel


def _by_vectors(name: str) -> Callable[..., Array]:
    """Return the overload that takes a list of sizes or of scales."""
    count = RESAMPLERS[name][0]

    def kernel(input: Array, output_size: Sequence[int] | None, *given: Any) -> Array:
        *align, scales = given
        if (output_size is None) == (scales is None):
            raise OperatorError("Must specify exactly one of output_size and scale_factors", operator=f"aten::{name}")
        if output_size is not None:
            return overload(name)(input, output_size, *align)
        sizes = dc.shape(input)[2:]
        if len(scales) != len(sizes) or len(sizes) != count:
            raise ShapeError(f"It is expected input_size equals to {count + 2}, but got size {ndim(input)}")
        wanted = scale_sizes(sizes, scales, "scale_factors")
        return overload(name)(input, wanted, *align, *scales)

    return kernel


def _check_pixels(name: str, self: Array, argument: str, factor: int) -> None:
    if ndim(self) < 3:
        raise ShapeError(
            f"{name} expects input to have at least 3 dimensions, but got input with {ndim(self)} dimension(s)",
            argument="self",
        )
    if factor <= 0:
        raise OperatorError(f"{name} expects a positive {argument}, but got {factor}", argument=argument)


def _like_format(found: Array, self: Array) -> Array:
    """Return a fresh array in the memory format of the input."""
    last = ndim(found) == 4 and suggests_channels_last(dc.shape(self), dc.strides(self))
    return aten.clone.default(found, memory_format=2 if last else 0)


def _pixel_shuffle(self: Array, upscale_factor: int) -> Array:
    _check_pixels("pixel_shuffle", self, "upscale_factor", upscale_factor)
    *outer, channels, height, width = dc.shape(self)
    factor = upscale_factor
    if channels % (factor * factor):
        raise ShapeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
            f"input.size(-3)={channels} is not divisible by {factor * factor}",
            argument="self",
        )
    made = channels // (factor * factor)
    parts = aten.reshape.default(self, [*outer, made, factor, factor, height, width])
    n = len(outer)
    parts = aten.permute.default(parts, [*range(n), n, n + 3, n + 1, n + 4, n + 2])
    return _like_format(aten.reshape.default(parts, [*outer, made, height * factor, width * factor]), self)


def _pixel_unshuffle(self: Array, downscale_factor: int) -> Array:
    _check_pixels("pixel_unshuffle", self, "downscale_factor", downscale_factor)
    *outer, channels, height, width = dc.shape(self)
    factor = downscale_factor
    for what, dim, size in (("height", -2, height), ("width", -1, width)):
        if size % factor:
            raise ShapeError(
                f"pixel_unshuffle expects {what} to be divisible by downscale_factor, but input.size({dim})={size} is not "
                f"divisible by {factor}",
                argument="self",
            )
    parts = aten.reshape.default(self, [*outer, channels, height // factor, factor, width // factor, factor])
    n = len(outer)
    parts = aten.permute.default(parts, [*range(n), n, n + 2, n + 4, n + 1, n + 3])
    shape = [*outer, channels * factor * factor, height // factor, width // factor]
    return _like_format(aten.reshape.default(parts, shape), self)


def _channel_shuffle(self: Array, groups: int) -> Array:
    if ndim(self) <= 2:
        raise ShapeError(
            f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(dc.shape(self))}",
            argument="self",
        )
    batch, channels, *rest = dc.shape(self)
    if groups <= 0:
        raise OperatorError(
            f"Number of groups to divide channels in must be positive. Value of groups:{groups}", argument="groups"
        )
    if channels % groups:
        raise ShapeError(
            f"Number of channels must be divisible by groups. Got {channels} channels and {groups} groups.",
            argument="groups",
        )
    parts = aten.reshape.default(self, [batch, groups, channels // groups, *rest])
    return _like_format(aten.reshape.default(aten.transpose.int(parts, 1, 2), dc.shape(self)), self)
