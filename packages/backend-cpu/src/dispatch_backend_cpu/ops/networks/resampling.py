"""Interpolation along one dimension after another: places and weights are prepared, elements taken, multiplied, added."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any, Final

import numpy as np

from dispatch_aten.dtypes import uint8
from dispatch_aten.fixed_point import integer_taps
from dispatch_aten.shapes import RESAMPLERS, RULES, ignored_scales, scale_sizes

from ...arrays import Array
from ...kernel_table import Kernel, KernelTable
from ...output_specs import OutputSpec
from ..pointwise.numpy_formulas import clamp
from ..support.constants import number
from ..support.reduce_ufuncs import SUM
from ..support.rule_kernels import cast, make_prepared

KERNELS: Final = KernelTable()

#: Places and weights: one array, of the result's size along the dimension, for each element that is summed.
_Taps = tuple[list[Array], list[Array]]
_FLOAT: Final[np.dtype[Any]] = np.dtype(np.float32)


def _places(a: Array, size: int) -> Array:
    return np.minimum(a.astype(np.int64), size - 1)


def _centers(numbers: Array, ratio: float, align: bool) -> Any:
    step, half = number(ratio, numbers), number(0.5, numbers)
    return numbers * step if align else (numbers + half) * step - half


def _linear(numbers: Array, size: int, ratio: float, align: bool, held: np.dtype[Any]) -> _Taps:
    zero, one = number(0, numbers), number(1, numbers)
    places = clamp(_centers(numbers, ratio, align), zero)
    first = _places(places, size)
    share = clamp((places - first).astype(numbers.dtype), zero, one)
    # torch rounds one share to the dtype of the elements, and takes the other from it.
    share = share.astype(held).astype(numbers.dtype)
    return [first, np.minimum(first + 1, size - 1)], [one - share, share]


def _cubic(numbers: Array, size: int, ratio: float, align: bool) -> _Taps:
    places = _centers(numbers, ratio, align)
    lowest = np.floor(places)
    first = lowest.astype(np.int64)
    taps = [np.clip(first + step, 0, size - 1) for step in (-1, 0, 1, 2)]
    return taps, _cubic_weights(places - lowest)


def _cubic_weights(share: Array) -> list[Array]:
    """Return the weights of the four elements around a point, of the cubic convolution kernel with ``a = -0.75``."""
    a = -0.75

    def near(x: Array) -> Any:
        return (x * number(a + 2, x) - number(a + 3, x)) * x * x + number(1, x)

    def far(x: Array) -> Any:
        return ((x * number(a, x) - number(5 * a, x)) * x + number(8 * a, x)) * x - number(4 * a, x)

    one = number(1, share)
    other = one - share
    return [far(share + one), near(share), near(other), far(other + one)]


def _triangle(x: Array) -> Any:
    return clamp(number(1, x) - np.absolute(x), number(0, x))


def _smooth_cubic(x: Array) -> Any:
    """Return the cubic convolution kernel with ``a = -0.5``."""
    x = np.absolute(x)
    near = (x * number(1.5, x) - number(2.5, x)) * x * x + number(1, x)
    far = number(2, x) - (number(4, x) - (number(2.5, x) - x * number(0.5, x)) * x) * x
    return np.where(x < number(1, x), near, np.where(x < number(2, x), far, number(0, x)))


def _sinc(x: Array) -> Any:
    turned = x * number(math.pi, x)
    whole = turned == 0
    return np.where(whole, number(1, x), np.sin(turned) / np.where(whole, number(1, x), turned))


def _lanczos(x: Array) -> Any:
    return np.where(np.absolute(x) < number(3, x), _sinc(x) * _sinc(x / number(3, x)), number(0, x))


_SMOOTH: Final[dict[str, tuple[int, Callable[[Array], Any]]]] = {
    "smooth linear": (1, _triangle),
    "smooth cubic": (2, _smooth_cubic),
    "smooth lanczos": (3, _lanczos),
}


def _smooth(numbers: Array, size: int, ratio: float, kind: str) -> _Taps:
    """Return weights of a kernel as wide as a step of the result, so that nothing is skipped where it is smaller."""
    half, kernel = _SMOOTH[kind]
    support, middle = half * max(ratio, 1.0), number(0.5, numbers)
    center = (numbers + middle) * number(ratio, numbers)
    start = np.maximum((center - number(support, numbers) + middle).astype(np.int64), 0)
    stop = np.minimum((center + number(support, numbers) + middle).astype(np.int64), size)
    taps, weights = [], []
    # A window is as wide as its scale is small, and no further than the input.
    for step in range(math.ceil(min(support * 2, size)) + 1):
        place = start + step
        away = place.astype(numbers.dtype) - center + middle
        weight = kernel(away * number(1.0 / ratio if ratio >= 1 else 1.0, numbers))
        weights.append(np.where(place < stop, weight, number(0, numbers)))
        taps.append(np.minimum(place, size - 1))
    total = weights[0]
    for weight in weights[1:]:
        total = total + weight
    # Windows that lie beyond all numbers have no weights.
    total = np.where(total == 0, number(1, numbers), total)
    return taps, [weight / total for weight in weights]


def _ratio(size: int, wanted: int, align: bool, scale: float | None) -> float:
    """Return how far one step in the result goes in the input."""
    if align:
        return (size - 1) / (wanted - 1) if wanted > 1 else 0.0
    return 1.0 / scale if scale is not None and scale > 0 else size / wanted


@np.errstate(all="ignore")  # absurd scales give places beyond all numbers, as in C
def _make_taps(
    kind: str, size: int, wanted: int, align: bool, scale: float | None, held: np.dtype[Any], dtype: np.dtype[Any]
) -> _Taps | None:
    """Return the places and weights along a dimension of ``size``; None where nothing changes."""
    ratio = _ratio(size, wanted, align, scale)
    if size == wanted and (ratio == 1 or (align and size == 1)):
        return None
    numbers = np.arange(wanted).astype(dtype)
    if kind == "linear":
        return _linear(numbers, size, ratio, align, held)
    if kind == "cubic":
        return _cubic(numbers, size, ratio, align)
    if kind in _SMOOTH:
        return _smooth(numbers, size, ratio, kind)
    begin = numbers + number(0.5, numbers) if kind == "exact" else numbers
    return [_places(begin * number(ratio, numbers), size)], []


def _resample(count: int, kind: str) -> Callable[..., Callable[..., Any]]:
    selects = kind in ("nearest", "exact")

    def prepare(spec: OutputSpec, self: Array, output_size: Sequence[int], *given: Any) -> Callable[..., Any]:
        align, scales = (False, given) if selects else (given[0], given[1:])
        if spec.dtype is uint8 and not selects:
            return _resample_pixels(spec.shape, self, kind, align, scales)
        held = _FLOAT if selects else spec.array_dtype
        dtype = self.dtype if spec.dtype.is_floating_point and self.dtype.itemsize >= _FLOAT.itemsize else _FLOAT
        if kind == "nearest" and any(scales):
            ignored = ignored_scales(self.shape, self.strides, output_size)
            scales = tuple([None if skip else scale for skip, scale in zip(ignored, scales, strict=False)])
        steps = []
        for dim in range(count + 1, 1, -1):
            scale = scales[dim - 2] if dim - 2 < len(scales) else None
            taps = _make_taps(kind, self.shape[dim], spec.shape[dim], align, scale, held, dtype)
            if taps is not None and self.size:
                column = [-1 if each == dim else 1 for each in range(self.ndim)]
                weights = [each.astype(held).astype(dtype).reshape(column) for each in taps[1]]
                steps.append((dim, taps[0], weights))
        shape = spec.shape

        def compute(self: Array, output_size: Sequence[int], *given: Any) -> Any:
            if not self.size:
                return np.empty(shape, self.dtype)
            found = self if selects else cast(self, dtype)
            for dim, places, weights in steps:
                found = _sum_taps(found, dim, places, weights)
            return found.copy() if found is self else found

        return compute

    return prepare


def _resample_pixels(
    shape: Sequence[int], self: Array, kind: str, align: bool, scales: Sequence[float | None]
) -> Callable[..., Any]:
    """Return the function for images of uint8, whose passes along changed dimensions round to uint8 each."""
    steps = []
    for dim in (3, 2):
        size, wanted = self.shape[dim], shape[dim]
        if size != wanted and self.size:
            scale = scales[dim - 2] if dim - 2 < len(scales) else None
            taps = integer_taps(kind, size, wanted, _ratio(size, wanted, align, scale), align)
            column = [-1 if each == dim else 1 for each in range(self.ndim)]
            weights = [np.array(line, np.int32).reshape(column) for line in taps.weights]
            steps.append((dim, [np.array(line) for line in taps.places], weights, taps.shift))

    def compute(self: Array, output_size: Sequence[int], *given: Any) -> Any:
        if not self.size:
            return np.empty(shape, self.dtype)
        found = self
        for dim, places, weights, shift in steps:
            total = _sum_taps(found, dim, places, weights)
            total += 1 << (shift - 1)
            total >>= shift
            found = np.clip(total, 0, 255).astype(np.uint8)
        return found.copy() if found is self else found

    return compute


def _sum_taps(a: Array, dim: int, places: list[Array], weights: list[Array]) -> Array:
    if not weights:
        return a.take(places[0], dim)
    found = a.take(places[0], dim) * weights[0]
    for place, weight in zip(places[1:], weights[1:], strict=True):
        found += a.take(place, dim) * weight
    return found


#: Matrices of up to so many elements are kept.
_KEPT: Final = 1 << 14


def spread_matrix(size: int, places: Array, weights: Array, dtype: np.dtype[Any]) -> Callable[[], Array]:
    """Return a function that returns the weights with which each line of ``places`` sums elements of a dimension."""

    def make() -> Array:
        matrix = np.zeros((len(places), size), dtype)
        np.add.at(matrix, (np.arange(len(places))[:, None], places), weights.astype(dtype))
        return matrix

    if len(places) * size > _KEPT:
        return make
    kept = make()
    return lambda: kept


def send_back(grad: Array, dim: int, make: Callable[[], Array]) -> Array:
    """Return the gradient along one dimension: the product with the `spread_matrix`."""
    matrix = make()
    shape, (wanted, size) = grad.shape, matrix.shape
    if dim == grad.ndim - 1:
        return np.matmul(grad.reshape(-1, wanted), matrix).reshape(*shape[:-1], size)
    lines = grad.reshape(prod(shape[:dim]), wanted, prod(shape[dim + 1 :]))
    return np.matmul(matrix.T, lines).reshape(*shape[:dim], size, *shape[dim + 1 :])


def _add_parts(grad: Array, dim: int, size: int) -> Array:
    shape = grad.shape
    found: Array = SUM(grad.reshape(*shape[:dim], size, shape[dim] // size, *shape[dim + 1 :]), dim + 1)
    return found


def _resample_backward(count: int, kind: str) -> Callable[..., Callable[..., Any]]:
    selects = kind in ("nearest", "exact")

    def prepare(
        spec: OutputSpec, grad_output: Array, output_size: Sequence[int], input_size: Sequence[int], *given: Any
    ) -> Callable[..., Any]:
        align, scales = (False, given) if selects else (given[0], given[1:])
        dtype = grad_output.dtype if grad_output.dtype.itemsize >= _FLOAT.itemsize else _FLOAT
        steps: list[Callable[[Array], Array]] = []
        for dim in range(2, count + 2):
            size, wanted = spec.shape[dim], output_size[dim - 2]
            scale = scales[dim - 2] if dim - 2 < len(scales) else None
            if not grad_output.size:
                continue
            if selects and wanted % size == 0 and _ratio(size, wanted, align, scale) == size / wanted:
                if wanted != size:
                    steps.append(partial(_add_parts, dim=dim, size=size))
                continue
            taps = _make_taps(kind, size, wanted, align, scale, spec.array_dtype, dtype)
            if taps is not None:
                places = np.stack(taps[0], 1)
                weights = np.stack(taps[1], 1) if taps[1] else np.ones(places.shape)
                steps.append(partial(send_back, dim=dim, make=spread_matrix(size, places, weights, dtype)))
        shape = spec.shape

        def compute(grad_output: Array, *options: Any) -> Any:
            if not grad_output.size:
                return np.zeros(shape, grad_output.dtype)
            found = cast(grad_output, dtype)
            for step in steps:
                found = step(found)
            return found.copy() if found is grad_output else found

        return compute

    return prepare


for _name, (_count, _kind) in RESAMPLERS.items():
    KERNELS[_name] = make_prepared(_name, _resample(_count, _kind))
    if f"{_name}_backward" in RULES:
        KERNELS[f"{_name}_backward"] = make_prepared(f"{_name}_backward", _resample_backward(_count, _kind))


def _by_vectors(name: str) -> Kernel:
    """Make the short way of the overload that takes a list of sizes or of scales."""
    kernel, count = KERNELS[name], RESAMPLERS[name][0]

    def way(input: Array, output_size: Sequence[int] | None, *given: Any) -> Any:
        *align, scales = given
        sizes = input.shape[2:]
        if output_size is not None or scales is None or len(scales) != len(sizes) or len(sizes) != count:
            return NotImplemented
        wanted = scale_sizes(sizes, scales, "scale_factors")
        return kernel(input, wanted, *align, *scales)

    return way


#: The resamplers whose own kernels take so long that a short way is no quicker.
_SLOW: Final = re.compile("_aa$|upsample_(bicubic2d|bilinear2d|trilinear3d)$")
#: Operator → its short way, and the options of ``Library.short_way``.
SHORT_WAYS: Final[dict[str, tuple[Kernel, dict[str, Any]]]] = {
    f"{name}.vec": (_by_vectors(name), {"parts": (name,)}) for name in RESAMPLERS if not _SLOW.search(name)
}
