"""Convolutions: the windows of the padded input side by side as columns, and one matrix product for each group.

Note [Columns in parts]
    The columns of a batch have as many elements as a window times the output. They are made and used for a part of the
    batch at a time, which stays in the processor's cache, in one buffer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from dispatch_aten import shapes

from ... import memory
from ...arrays import Array
from ...kernel_table import Kernel, KernelTable
from ...output_specs import OutputSpec, half_as_float
from ..support.compiled_kernels import LOOPS
from ..support.rule_kernels import cast, make_kernel, make_prepared

if TYPE_CHECKING:
    from dispatch_aten.shapes import ConvolutionGeometry


KERNELS: Final = KernelTable()

#: Bytes of columns that are made at a time.
_BUFFER: Final = 1 << 20


def inner(index: Iterable[Any]) -> Any:
    """Return an index of the last dimensions."""
    return (..., *index)


def make_pad(shape: Sequence[int], padding: Sequence[tuple[int, int]], value: Any = 0) -> Callable[[Array], Array]:
    """Make a function of arrays of a shape: a row-major copy with ``value`` around the last dimensions.

    Where nothing is added it returns the array itself.
    """
    if not any(before or after for before, after in padding):
        return lambda a: a
    outer, sizes = shape[: len(shape) - len(padding)], shape[len(shape) - len(padding) :]
    wider = (*outer, *(before + size + after for size, (before, after) in zip(sizes, padding, strict=True)))
    place = inner(slice(before, before + each) for each, (before, _) in zip(sizes, padding, strict=True))

    def pad(a: Array) -> Array:
        # Not the pool's: its pieces begin at one place of a page, and copies between two such places are slow.
        made = np.empty(wider, a.dtype)
        made.fill(value)
        made[place] = a
        return made

    return pad


def pad(a: Array, padding: Sequence[tuple[int, int]], value: Any = 0) -> Array:
    """Return a row-major copy with ``value`` around the last dimensions, or the array itself where nothing is added."""
    return make_pad(a.shape, padding, value)(a)


def shifts(
    kernel: Sequence[int], grid: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> Sequence[tuple[Any, ...]]:
    """Return, for each place in the window, the index of the elements that lie there when the window moves over a grid."""
    return _shifts(tuple(kernel), tuple(grid), tuple(stride), tuple(dilation))


@lru_cache(maxsize=256)
def _shifts(
    kernel: tuple[int, ...], grid: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...]
) -> tuple[tuple[Any, ...], ...]:
    ways = [
        [slice(place * gap, place * gap + (count - 1) * step + 1, step) for place in range(span)]
        for span, count, step, gap in zip(kernel, grid, stride, dilation, strict=True)
    ]
    return tuple((..., *place) for place in product(*ways))


def windows(a: Array, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]) -> Array:
    """Return a view ``(*outer, *kernel, *grid)`` of the windows over the last dimensions."""
    shape, steps = _window_steps(a.shape, a.strides, tuple(kernel), tuple(stride), tuple(dilation))
    if a.flags.c_contiguous:
        return np.ndarray(shape, a.dtype, a, 0, steps)
    return np.lib.stride_tricks.as_strided(a, shape, steps, writeable=False)


@lru_cache(maxsize=256)
def _window_steps(
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    dilation: tuple[int, ...],
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the shape and the strides, in bytes, of the view of windows."""
    count = len(kernel)
    grid = shapes.columns_grid(shape[-count:], kernel, dilation, [0] * count, stride)
    steps = strides[-count:]
    return (*shape[:-count], *kernel, *grid), (
        *strides[:-count],
        *(step * gap for step, gap in zip(steps, dilation, strict=True)),
        *(step * move for step, move in zip(steps, stride, strict=True)),
    )


def _is_pointwise(kernel: Sequence[int], g: ConvolutionGeometry) -> bool:
    return prod(kernel) == 1 and all(step == 1 for step in g.stride) and not any(g.padding)


def _parts(batch: int, each: int, itemsize: int) -> list[slice]:
    """Divide a batch into parts whose columns fit the buffer; see Note [Columns in parts]."""
    count = max(1, min(batch, _BUFFER // max(each * itemsize, 1)))
    return [slice(start, min(start + count, batch)) for start in range(0, batch, count)]


class _Columns(NamedTuple):
    """How the columns of an input of one shape are made; see Note [Columns in parts]."""

    grid: tuple[int, ...]
    kernel: tuple[int, ...]
    geometry: ConvolutionGeometry
    #: The parts of the batch, their sizes, and the functions that pad them.
    parts: list[tuple[slice, int, Callable[[Array], Array]]]
    #: The rows and columns of each sample.
    rows: int
    places: int
    is_pointwise: bool

    def of(self, a: Array) -> Iterator[tuple[slice, int, Array]]:
        """Yield parts of the batch, their sizes and their columns ``(groups, channels * window, part * places)``."""
        g, rows, places, count = self.geometry, self.rows, self.places, len(self.kernel)
        buffer: Array | None = None
        how = self.kernel, self.grid, tuple(g.stride), tuple(g.dilation), tuple(g.padding)
        for part, size, fit in self.parts:
            # One sample at a time needs no other order, and a pointwise one no copy.
            if size == 1 and self.is_pointwise and a.flags.c_contiguous:
                yield part, size, a[part].reshape(g.groups, rows // g.groups, places)
                continue
            if buffer is None or buffer.size != rows * size * places:
                buffer = memory.empty(rows * size * places, a.dtype)
            if LOOPS is None or not LOOPS.columns(a[part], buffer, *how):
                seen = windows(fit(a[part]), self.kernel, g.stride, g.dilation)
                turned = seen.transpose(*range(1, 2 + count), 0, *range(2 + count, 2 + 2 * count))
                np.copyto(buffer.reshape(turned.shape), turned)
            yield part, size, buffer.reshape(g.groups, rows // g.groups, size * places)


@lru_cache(maxsize=256)
def _columns(shape: tuple[int, ...], kernel: tuple[int, ...], g: ConvolutionGeometry, itemsize: int) -> _Columns:
    grid = shapes.columns_grid(shape[2:], kernel, g.dilation, g.padding, g.stride)
    rows, places = shape[1] * prod(kernel), prod(grid)
    around = [(each, each) for each in g.padding]
    parts = [
        (part, size := part.stop - part.start, make_pad((size, *shape[1:]), around))
        for part in _parts(shape[0], rows * places, itemsize)
    ]
    return _Columns(grid, kernel, g, parts, rows, places, _is_pointwise(kernel, g))


def _convolve(a: Array, weight: Array, g: ConvolutionGeometry) -> Array:
    """Return the convolution of ``(batch, channels, *sizes)`` with ``(made, channels / groups, *kernel)``."""
    made = len(weight)
    columns_of = _columns(a.shape, weight.shape[2:], g, a.itemsize)
    grid = columns_of.grid
    result = memory.empty(len(a) * made * columns_of.places, a.dtype).reshape(len(a), made, *grid)
    factors = weight.reshape(g.groups, made // g.groups, -1)
    for part, size, columns in columns_of.of(a):
        if size == 1:
            np.matmul(factors, columns, out=result[part].reshape(g.groups, made // g.groups, -1))
        else:
            shape = g.groups, made // g.groups, columns.shape[-1]
            found = np.matmul(factors, columns, out=memory.empty(prod(shape), a.dtype).reshape(shape))
            result[part] = found.reshape(made, size, *grid).swapaxes(0, 1)
    return result


def _by_channel(grad: Array) -> Array:
    """Return a copy of a part of a batch with the channels first."""
    turned = grad.swapaxes(0, 1)
    made = memory.empty(grad.size, grad.dtype).reshape(turned.shape)
    made[...] = turned
    return made


def _turn(
    weight: Array, grid: Sequence[int], sizes: Sequence[int], g: ConvolutionGeometry
) -> tuple[Array, ConvolutionGeometry] | None:
    """Return the weight and the geometry of the convolution that sends an output back; None where steps are wider."""
    made, each, *kernel = weight.shape
    around = tuple(gap * (span - 1) - before for gap, span, before in zip(g.dilation, kernel, g.padding, strict=True))
    back = g._replace(padding=around, transposed=False, output_padding=(0,) * len(kernel))
    if any(step != 1 for step in g.stride) or min(around) < 0:
        return None
    if shapes.columns_grid(grid, kernel, g.dilation, around, g.stride) != tuple(sizes):
        return None
    parts = weight.reshape(g.groups, made // g.groups, each, *kernel).swapaxes(1, 2)
    parts = np.flip(parts, tuple(range(3, parts.ndim)))
    return np.ascontiguousarray(parts).reshape(g.groups * each, made // g.groups, *kernel), back


def _convolve_back(
    grad: Array, weight: Array, sizes: Sequence[int], g: ConvolutionGeometry, held: np.dtype[Any] | None = None
) -> Array:
    """Send a convolution's output back to its input of these sizes: a transposed convolution."""
    made, _, *kernel = weight.shape
    channels = weight.shape[1] * g.groups
    grid = grad.shape[2:]
    padded = [
        max(size + 2 * each, (count - 1) * step + gap * (span - 1) + 1)
        for size, each, count, step, gap, span in zip(sizes, g.padding, grid, g.stride, g.dilation, kernel, strict=True)
    ]
    turned = _turn(weight, grad.shape[2:], sizes, g)
    if turned is not None:
        return _convolve(grad, *turned)
    factors = weight.reshape(g.groups, made // g.groups, -1).swapaxes(1, 2)
    # torch adds up 16-bit floats in their own dtype where the output padding is as large as the stride.
    is_wide = all(extra < step for extra, step in zip(g.output_padding, g.stride, strict=True))
    dtype = grad.dtype if held is None or is_wide else held
    result = np.zeros((len(grad), channels, *padded), dtype)
    for part in _parts(len(grad), channels * prod(kernel) * prod(grid), grad.itemsize):
        size = part.stop - part.start
        rows = _by_channel(grad[part]).reshape(g.groups, made // g.groups, -1)
        columns = cast(factors @ rows, dtype).reshape(channels, prod(kernel), size, *grid)
        target = result[part].swapaxes(0, 1)
        for number, place in enumerate(shifts(kernel, grid, g.stride, g.dilation)):
            target[place] += columns[:, number]
    return result[inner(slice(each, each + size) for each, size in zip(g.padding, sizes, strict=True))]


def _input_gradient(grad: Array, weight: Array, sizes: Sequence[int], g: ConvolutionGeometry) -> Array:
    if not g.transposed:
        return _convolve_back(grad, weight, sizes, g)
    # An output padding as large as the stride has the window move further than the input reaches.
    return _convolve(grad, weight, g)[inner(map(slice, sizes))]


def _weight_gradient(grad: Array, a: Array, weight: Array, g: ConvolutionGeometry) -> Array:
    made, _, *kernel = weight.shape
    total = np.zeros((g.groups, made // g.groups, prod(weight.shape[1:])), a.dtype)
    grid = shapes.columns_grid(a.shape[2:], kernel, g.dilation, g.padding, g.stride)
    if grid != grad.shape[2:]:
        # An output padding as large as the stride has the window move further than the gradient reaches.
        needed = [
            (count - 1) * step + gap * (span - 1) + 1
            for count, step, gap, span in zip(grad.shape[2:], g.stride, g.dilation, kernel, strict=True)
        ]
        a = pad(a, [(each, each) for each in g.padding])[inner(map(slice, needed))]
        g = g._replace(padding=(0,) * len(kernel))
    for part, _, columns in _columns(a.shape, tuple(kernel), g, a.itemsize).of(a):
        rows = _by_channel(grad[part]).reshape(g.groups, made // g.groups, -1)
        total += rows @ columns.swapaxes(1, 2)
    return total.reshape(weight.shape)


def _convolution(
    spec: OutputSpec, input: Array, weight: Array, bias: Array | None, *options: Any
) -> Callable[..., Any]:
    dtype, shape = half_as_float(spec.array_dtype), spec.shape
    is_empty = not spec.numel or not weight.size
    g = None if is_empty else shapes.convolution_geometry(weight.shape, *options)
    by_channel = (-1, *[1] * (len(shape) - 2))

    def compute(input: Array, weight: Array, bias: Array | None, *options: Any) -> Any:
        if g is None:
            result = np.zeros(shape, dtype)
        elif g.transposed:
            result = _convolve_back(cast(input, dtype), cast(weight, dtype), shape[2:], g, spec.array_dtype)
        else:
            result = _convolve(cast(input, dtype), cast(weight, dtype), g)
        if bias is not None:
            result = cast(result, dtype)
            result += cast(bias, dtype).reshape(by_channel)
        return result

    return compute


def _convolution_backward(
    specs: Sequence[OutputSpec],
    grad: Array,
    input: Array,
    weight: Array,
    bias_sizes: Sequence[int] | None,
    *options: Any,
) -> Any:
    *numbers, mask = options
    dtype = half_as_float(specs[0].array_dtype)
    found: list[Array] = [np.zeros(each.shape, dtype) for each in specs]
    g = shapes.convolution_geometry(weight.shape, *numbers)
    grad, input, weight = cast(grad, dtype), cast(input, dtype), cast(weight, dtype)
    if grad.size:
        if mask[0] and input.size:
            found[0] = _input_gradient(grad, weight, input.shape[2:], g)
        if mask[1] and weight.size:
            first, second = (input, grad) if g.transposed else (grad, input)
            found[1] = _weight_gradient(first, second, weight, g)
        if mask[2]:
            found[2] = grad.sum(axis=(0, *range(2, grad.ndim)))
    return found


def _im2col(
    spec: OutputSpec,
    self: Array,
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Any:
    padded = pad(self, [(each, each) for each in padding])
    return windows(padded, kernel_size, stride, dilation).copy().reshape(spec.shape)


def _col2im(
    spec: OutputSpec,
    self: Array,
    output_size: Sequence[int],
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Any:
    dtype = half_as_float(spec.array_dtype)
    grid = shapes.columns_grid(output_size, kernel_size, dilation, padding, stride)
    sizes = [size + 2 * each for size, each in zip(output_size, padding, strict=True)]
    outer = spec.shape[:-2]
    result = np.zeros((*outer, *sizes), dtype)
    columns = self.reshape(*outer, prod(kernel_size), *grid)
    for number, place in enumerate(shifts(kernel_size, grid, stride, dilation)):
        result[place] += columns[..., number, :, :]
    return result[inner(slice(each, each + size) for each, size in zip(padding, output_size, strict=True))]


_COMPUTE: Final[dict[str, Kernel]] = {
    "convolution_backward": _convolution_backward,
    "im2col": _im2col,
    "col2im": _col2im,
}
KERNELS.update({name: make_kernel(name, compute) for name, compute in _COMPUTE.items()})
KERNELS["convolution"] = make_prepared("convolution", _convolution)
