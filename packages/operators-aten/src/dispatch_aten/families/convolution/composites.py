"""Convolutions in terms of simpler operators: windows of the padded input, and one matrix product for each group."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import dispatch_core as dc
from dispatch_aten.decompositions._layout import lay_out
from dispatch_aten.decompositions._shared import Array, arange_like, aten, cast, meta_of, ndim
from dispatch_aten.decompositions._writes import scatter_into
from dispatch_aten.errors import OperatorError, ShapeError
from dispatch_aten.families.convolution.shapes import (
    ConvolutionGeometry,
    columns_grid,
    convolution_geometry,
    output_sizes,
    spread,
)
from dispatch_aten.families.view.functional import restride
from dispatch_aten.shapes import RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def _pad(self: Array, padding: Sequence[int]) -> Array:
    """Return an array with zeros on both sides of its last dimensions."""
    if not any(padding):
        return self
    return aten.constant_pad_nd.default(self, [each for pad in reversed(padding) for each in (pad, pad)], 0)


def windows(self: Array, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]) -> Array:
    """Return a view of a contiguous array's windows, ``(*outer, *kernel, *places)``, over its last dimensions."""
    self = aten.contiguous.default(self)
    count = len(kernel)
    shape, strides = dc.shape(self), dc.strides(self)
    grid = columns_grid(shape[-count:], kernel, dilation, [0] * count, stride)
    steps = strides[-count:]
    return restride(
        self,
        [*shape[:-count], *kernel, *grid],
        [
            *strides[:-count],
            *(step * gap for step, gap in zip(steps, dilation, strict=True)),
            *(step * move for step, move in zip(steps, stride, strict=True)),
        ],
    )


def _insert_zeros(self: Array, stride: Sequence[int]) -> Array:
    """Return an array with ``stride - 1`` zeros between its elements, along its last dimensions."""
    if all(step == 1 for step in stride):
        return self
    shape, count = dc.shape(self), len(stride)
    sizes = [(size - 1) * step + 1 for size, step in zip(shape[-count:], stride, strict=True)]
    fresh = aten.new_zeros.default(self, [*shape[:-count], *sizes])
    first = len(shape) - count
    inner = [(aten.slice.Tensor, (first + place, None, None, step)) for place, step in enumerate(stride)]
    return scatter_into(fresh, inner, self)


def _swap_channels(weight: Array, groups: int) -> Array:
    """Return a weight with inputs and outputs exchanged within each group."""
    first, second, *rest = dc.shape(weight)
    parts = aten.reshape.default(weight, [groups, first // groups, second, *rest])
    return aten.reshape.default(aten.transpose.int(parts, 1, 2), [groups * second, first // groups, *rest])


def _as_direct(input: Array, weight: Array, g: ConvolutionGeometry) -> tuple[Array, Array, ConvolutionGeometry]:
    """Write a transposed convolution as a direct one, of the spaced input with the turned weight."""
    kernel = dc.shape(weight)[2:]
    input = _insert_zeros(input, g.stride)
    around = [
        each
        for size, gap, pad, extra in reversed(list(zip(kernel, g.dilation, g.padding, g.output_padding, strict=True)))
        for each in (gap * (size - 1) - pad, gap * (size - 1) - pad + extra)
    ]
    if any(around):
        input = aten.constant_pad_nd.default(input, around, 0)
    weight = aten.flip.default(_swap_channels(weight, g.groups), list(range(2, ndim(weight))))
    ones, zeros = (1,) * len(kernel), (0,) * len(kernel)
    return input, weight, ConvolutionGeometry(ones, zeros, g.dilation, False, zeros, g.groups)


def _convolution(
    input: Array,
    weight: Array,
    bias: Array | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Array:
    options = (stride, padding, dilation, transposed, output_padding, groups)
    expected = RULES["convolution"](meta_of(input), meta_of(weight), None if bias is None else meta_of(bias), *options)
    wanted = expected.shape
    if 0 in wanted or 0 in dc.shape(weight):
        found = aten.new_zeros.default(input, wanted)
    else:
        g = convolution_geometry(dc.shape(weight), *options)
        if transposed:
            input, weight, g = _as_direct(input, weight, g)
        found = aten.reshape.default(_multiply(input, weight, g), wanted)
    if bias is not None:
        found = aten.add.Tensor(found, aten.reshape.default(bias, [-1] + [1] * (len(wanted) - 2)))
    return lay_out(found, expected)


def _multiply(input: Array, weight: Array, g: ConvolutionGeometry) -> Array:
    batch, channels = dc.shape(input)[:2]
    made, _, *kernel = dc.shape(weight)
    seen = windows(_pad(input, g.padding), kernel, g.stride, g.dilation)
    places = prod(dc.shape(seen)[2 + len(kernel) :])
    rows = channels // g.groups * prod(kernel)
    columns = aten.reshape.default(seen, [batch * g.groups, rows, places])
    factors = aten.reshape.default(weight, [1, g.groups, made // g.groups, rows])
    factors = aten.expand.default(factors, [batch, g.groups, made // g.groups, rows])
    return aten.bmm.default(aten.reshape.default(factors, [batch * g.groups, made // g.groups, rows]), columns)


def _convolution_with_options(*args: Any) -> Array:
    return aten.convolution.default(*args[:9])


def input_gradient(grad: Array, sizes: Sequence[int], weight: Array, g: ConvolutionGeometry) -> Array:
    """Return the gradient of a convolution's input: a convolution the other way."""
    if g.transposed:
        zeros = (0,) * len(g.stride)
        found = aten.convolution.default(grad, weight, None, g.stride, g.padding, g.dilation, False, zeros, g.groups)
    else:
        least = output_sizes(dc.shape(grad), dc.shape(weight), g._replace(transposed=True, output_padding=(0,) * 9))
        extra = [max(size - found, 0) for size, found in zip(sizes[2:], least, strict=True)]
        found = aten.convolution.default(grad, weight, None, g.stride, g.padding, g.dilation, True, extra, g.groups)
    for dim, size in enumerate(sizes):
        if dc.shape(found)[dim] != size:
            found = aten.slice.Tensor(found, dim, 0, size)
    return found


def _weight_gradient(grad: Array, input: Array, weight: Array, g: ConvolutionGeometry) -> Array:
    """Return the gradient of a convolution's weight: a convolution of the input with the gradient over the batch."""
    if g.transposed:
        grad, input = input, grad
    groups, kernel = g.groups, dc.shape(weight)[2:]
    batch, channels, *sizes = dc.shape(input)
    made = dc.shape(grad)[1]
    parts = aten.reshape.default(input, [batch, groups, channels // groups, *sizes])
    parts = aten.reshape.default(aten.transpose.int(parts, 0, 2), [channels // groups, groups * batch, *sizes])
    factors = aten.transpose.int(grad, 0, 1)
    zeros = (0,) * len(kernel)
    found = aten.convolution.default(parts, factors, None, g.dilation, g.padding, g.stride, False, zeros, groups)
    for dim, size in enumerate(kernel, 2):
        found = aten.slice.Tensor(found, dim, 0, size)
    return aten.contiguous.default(
        aten.reshape.default(aten.transpose.int(found, 0, 1), [made, channels // groups, *kernel])
    )


def _convolution_backward(
    grad_output: Array,
    input: Array,
    weight: Array,
    bias_sizes: Sequence[int] | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    output_mask: Sequence[bool],
) -> tuple[Array | None, ...]:
    options = (stride, padding, dilation, transposed, output_padding, groups)
    metas = (meta_of(grad_output), meta_of(input), meta_of(weight))
    expected = RULES["convolution_backward"](*metas, bias_sizes, *options, output_mask)
    g = convolution_geometry(dc.shape(weight), *options)
    empty = 0 in dc.shape(grad_output)

    def make(wanted: bool, like: Array, compute: Callable[[], Array]) -> Array | None:
        if not wanted:
            return None
        return aten.new_zeros.default(like, dc.shape(like)) if empty or 0 in dc.shape(like) else compute()

    found = (
        make(output_mask[0], input, lambda: input_gradient(grad_output, dc.shape(input), weight, g)),
        make(output_mask[1], weight, lambda: _weight_gradient(grad_output, input, weight, g)),
        cast(aten.sum.dim_IntList(grad_output, [0, *range(2, ndim(grad_output))]), dc.dtype(grad_output))
        if output_mask[2]
        else None,
    )
    laid_out: tuple[Array | None, ...] = lay_out(found, expected)
    return laid_out


def _check_batch(name: str, input: Array, count: int) -> bool:
    """Return whether the input has no batch dimension."""
    if ndim(input) not in (count + 1, count + 2):
        raise ShapeError(
            f"Expected {count + 1}D (unbatched) or {count + 2}D (batched) input to {name}, but got input of size: "
            f"{list(dc.shape(input))}",
            argument="input",
            operator=f"aten::{name}",
        )
    return ndim(input) == count + 1


def _with_batch(name: str, count: int, run: Callable[..., Array]) -> Callable[..., Array]:
    def kernel(input: Array, weight: Array, *args: Any, **kwargs: Any) -> Array:
        if _check_batch(name, input, count):
            found = run(aten.unsqueeze.default(input, 0), weight, *args, **kwargs)
            return aten.squeeze.dim(found, 0)
        return run(input, weight, *args, **kwargs)

    return kernel


def _direct(count: int) -> Callable[..., Array]:
    def run(
        input: Array,
        weight: Array,
        bias: Array | None = None,
        stride: Sequence[int] = (1,),
        padding: Sequence[int] = (0,),
        dilation: Sequence[int] = (1,),
        groups: int = 1,
    ) -> Array:
        return aten.convolution.default(input, weight, bias, stride, padding, dilation, False, (0,) * count, groups)

    return run


def _named_padding(
    input: Array,
    weight: Array,
    bias: Array | None = None,
    stride: Sequence[int] = (1,),
    padding: str = "valid",
    dilation: Sequence[int] = (1,),
    groups: int = 1,
) -> Array:
    """Return a convolution with ``"valid"``, no padding, or ``"same"``, by which the output has the input's size."""
    kernel = dc.shape(weight)[2:]
    count = len(kernel)
    if padding not in ("valid", "same"):
        raise OperatorError(f"Invalid padding string: '{padding}'", argument="padding")
    around = [0] * count
    if padding == "same":
        if ndim(input) != ndim(weight):
            raise ShapeError("Input and weight must have the same number of dimensions", argument="input")
        if any(step != 1 for step in stride):
            raise OperatorError("padding='same' is not supported for strided convolutions", argument="padding")
        gaps = spread(dilation, count, "dilation")
        totals = [gap * (size - 1) for gap, size in zip(gaps, kernel, strict=True)]
        around = [total // 2 for total in totals]
        if any(total % 2 for total in totals):
            more = [each for total in reversed(totals) for each in (0, total % 2)]
            input = aten.constant_pad_nd.default(input, more, 0)
    return aten.convolution.default(input, weight, bias, stride, around, dilation, False, [0] * count, groups)


def _convolve_transposed(
    input: Array,
    weight: Array,
    bias: Array | None = None,
    stride: Sequence[int] = (1,),
    padding: Sequence[int] = (0,),
    output_padding: Sequence[int] = (0,),
    groups: int = 1,
    dilation: Sequence[int] = (1,),
) -> Array:
    return aten.convolution.default(input, weight, bias, stride, padding, dilation, True, output_padding, groups)


def _conv_tbc(self: Array, weight: Array, bias: Array, pad: int = 0) -> Array:
    """Return a convolution of time × batch × channels, by one of batch × channels × time."""
    RULES["conv_tbc"](meta_of(self), meta_of(weight), meta_of(bias), pad)
    turned = aten.permute.default(self, [1, 2, 0])
    factors = aten.permute.default(weight, [2, 1, 0])
    found = aten.convolution.default(turned, factors, bias, [1], [pad], [1], False, [0], 1)
    return aten.contiguous.default(aten.permute.default(found, [2, 0, 1]))


def _conv_tbc_backward(self: Array, input: Array, weight: Array, bias: Array, pad: int) -> tuple[Array, Array, Array]:
    found = aten.convolution_backward.default(
        aten.permute.default(self, [1, 2, 0]),
        aten.permute.default(input, [1, 2, 0]),
        aten.permute.default(weight, [2, 1, 0]),
        None,
        *([1], [pad], [1], False, [0], 1),
        [True, True, True],
    )
    to_input, to_weight = aten.permute.default(found[0], [2, 0, 1]), aten.permute.default(found[1], [2, 1, 0])
    # No views, whatever order the results lie in.
    return aten.clone.default(to_input, memory_format=0), aten.clone.default(to_weight, memory_format=0), found[2]


def _im2col(
    self: Array, kernel_size: Sequence[int], dilation: Sequence[int], padding: Sequence[int], stride: Sequence[int]
) -> Array:
    wanted = RULES["im2col"](meta_of(self), kernel_size, dilation, padding, stride).shape
    return aten.clone.default(
        aten.reshape.default(windows(_pad(self, padding), kernel_size, stride, dilation), wanted), memory_format=0
    )


def _col2im(
    self: Array,
    output_size: Sequence[int],
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Array:
    """Add the columns where their elements come from: the places of the windows of an array of positions."""
    wanted = RULES["col2im"](meta_of(self), output_size, kernel_size, dilation, padding, stride).shape
    sizes = [size + 2 * pad for size, pad in zip(output_size, padding, strict=True)]
    positions = aten.view.default(arange_like(self, prod(sizes)), sizes)
    places = aten.reshape.default(windows(positions, kernel_size, stride, dilation), [-1])
    outer = wanted[:-2]
    fresh = aten.new_zeros.default(self, [*outer, prod(sizes)])
    values = aten.reshape.default(self, [*outer, prod(kernel_size) * dc.shape(self)[-1]])
    added = aten.view.default(aten.index_add.default(fresh, len(outer), places, values), [*outer, *sizes])
    for dim, (pad, size) in enumerate(zip(padding, output_size, strict=True), len(outer)):
        added = aten.slice.Tensor(added, dim, pad, pad + size)
    return aten.contiguous.default(added)
