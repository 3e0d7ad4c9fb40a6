"""Shape rules of convolutions, and of the columns of their windows (``im2col``, ``col2im``)."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dispatch_aten.dtypes import float64, int64
from dispatch_aten.errors import OperatorError, ShapeError
from dispatch_aten.promotion import result_type
from dispatch_aten.shapes.meta import TensorMeta, channels_last_strides, contiguous, suggests_channels_last
from dispatch_aten.shapes.refusals import c_name, refuse_kinds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dispatch_aten.dtypes import ScalarType

_SIDES: Final = ("depth", "height", "width")


class ConvolutionGeometry(NamedTuple):
    """How a convolution's window moves: one number for each dimension, and whether input and output change places."""

    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    transposed: bool
    output_padding: tuple[int, ...]
    groups: int


def spread(values: Sequence[int], count: int, name: str) -> tuple[int, ...]:
    """Return one number for each dimension; a single one holds for all.

    >>> spread([2], 3, "stride")
    (2, 2, 2)
    """
    if len(values) == 1:
        return tuple(values) * count
    if len(values) != count:
        raise ShapeError(
            f"expected {name} to be a single integer value or a list of {count} values to match the convolution "
            f"dimensions, but got {name}={list(values)}",
            argument=name,
        )
    return tuple(values)


def convolution_geometry(
    weight: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> ConvolutionGeometry:
    """Return a convolution's numbers, one for each dimension of its weight's windows."""
    count = len(weight) - 2
    return ConvolutionGeometry(
        spread(stride, count, "stride"),
        spread(padding, count, "padding"),
        spread(dilation, count, "dilation"),
        transposed,
        spread(output_padding, count, "output_padding"),
        groups,
    )


def _check_numbers(weight: Sequence[int], g: ConvolutionGeometry) -> None:
    if g.groups <= 0:
        raise OperatorError("non-positive groups is not supported", argument="groups")
    for name, values, least in (("padding", g.padding, 0), ("output_padding", g.output_padding, 0)):
        if any(value < least for value in values):
            raise OperatorError(f"negative {name} is not supported", argument=name)
    if any(value <= 0 for value in g.stride):
        raise OperatorError("non-positive stride is not supported", argument="stride")
    if any(value <= 0 for value in g.dilation):
        raise OperatorError(f"dilation should be greater than zero, but got {list(g.dilation)}", argument="dilation")
    if any(size <= 0 for size in weight[2:]):
        raise OperatorError(f"kernel size should be greater than zero, but got {list(weight[2:])}", argument="weight")
    if g.transposed and any(
        extra >= step and extra >= gap for extra, step, gap in zip(g.output_padding, g.stride, g.dilation, strict=True)
    ):
        names = _SIDES[-len(g.stride) :]
        listed = " ".join(
            f"{label}_{side}: {value}"
            for label, values in (
                ("output_padding", g.output_padding),
                ("stride", g.stride),
                ("dilation", g.dilation),
            )
            for side, value in zip(names, values, strict=True)
        )
        raise OperatorError(
            f"output padding must be smaller than either stride or dilation, but got {listed}",
            argument="output_padding",
        )


def _check_channels(
    input: Sequence[int], weight: Sequence[int], bias: Sequence[int] | None, g: ConvolutionGeometry
) -> None:
    if len(input) != len(weight):
        raise ShapeError(
            f"Expected {len(weight)}-dimensional input for {len(weight)}-dimensional weight {list(weight)}, but got "
            f"{len(input)}-dimensional input of size {list(input)} instead",
            argument="input",
        )
    given = f"Given groups={g.groups}, "
    if weight[0] < g.groups:
        raise ShapeError(
            f"{given}expected weight to be at least {g.groups} at dimension 0, but got weight of size {list(weight)} "
            "instead",
            argument="weight",
        )
    if weight[0] % g.groups:
        raise ShapeError(
            f"{given}expected weight to be divisible by {g.groups} at dimension 0, but got weight of size "
            f"[{list(weight)}] instead",
            argument="weight",
        )
    wanted = weight[0] if g.transposed else weight[1] * g.groups
    if input[1] != wanted:
        head = f"Given transposed={int(g.transposed)}, " if g.transposed else given
        raise ShapeError(
            f"{head}weight of size {list(weight)}, expected input{list(input)} to have {wanted} channels, but got "
            f"{input[1]} channels instead",
            argument="input",
        )
    made = weight[1] * g.groups if g.transposed else weight[0]
    if bias is not None and tuple(bias) != (made,):
        head = "Given transposed=1, " if g.transposed else "Given "
        raise ShapeError(
            f"{head}weight of size {list(weight)}, expected bias to be 1-dimensional with {made} elements, but got bias "
            f"of size {list(bias)} instead",
            argument="bias",
        )


def output_sizes(input: Sequence[int], weight: Sequence[int], g: ConvolutionGeometry) -> tuple[int, ...]:
    """Return the sizes of a convolution's output behind its channels."""
    places = range(len(weight) - 2)
    spans = [g.dilation[i] * (weight[i + 2] - 1) + 1 for i in places]
    if g.transposed:
        return tuple(
            (input[i + 2] - 1) * g.stride[i] - 2 * g.padding[i] + spans[i] + g.output_padding[i] for i in places
        )
    return tuple((input[i + 2] + 2 * g.padding[i] - spans[i]) // g.stride[i] + 1 for i in places)


def _by(sizes: Sequence[int]) -> str:
    return "(" + " x ".join(map(str, sizes)) + ")"


def _check_sizes(input: Sequence[int], weight: Sequence[int], g: ConvolutionGeometry) -> tuple[int, ...]:
    found = output_sizes(input, weight, g)
    if g.transposed:
        if any(size < 1 for size in found) and input[0]:
            raise ShapeError(
                f"Given input size per channel: {_by(input[2:])}. Calculated output size per channel: {_by(found)}. "
                "Output size is too small",
                argument="input",
            )
        return tuple(max(size, 0) for size in found)
    padded = [size + 2 * pad for size, pad in zip(input[2:], g.padding, strict=True)]
    spans = [gap * (size - 1) + 1 for size, gap in zip(weight[2:], g.dilation, strict=True)]
    if 0 in input[2:] or any(size < span for size, span in zip(padded, spans, strict=True)):
        raise ShapeError(
            f"Calculated padded input size per channel: {_by(padded)}. Kernel size: {_by(spans)}. Kernel size can't be "
            "greater than actual input size",
            argument="input",
        )
    return found


def _check_dtypes(input: TensorMeta, weight: TensorMeta, bias: TensorMeta | None) -> None:
    if weight.dtype != input.dtype:
        raise OperatorError(
            f"Input type ({c_name(input.dtype)}) and weight type ({c_name(weight.dtype)}) should be the same",
            argument="weight",
        )
    if bias is not None and bias.dtype != input.dtype:
        raise OperatorError(
            f"Input type ({c_name(input.dtype)}) and bias type ({c_name(bias.dtype)}) should be the same",
            argument="bias",
        )
    refuse_kinds("slow_conv2d_cpu", "b", input.dtype)


def _check_kernel(dtype: ScalarType, g: ConvolutionGeometry) -> None:
    """Refuse integers of fewer than 64 bits where torch's kernel has none: transposed, and with gaps in the kernel."""
    if dtype == int64:
        return
    if g.transposed:
        refuse_kinds(f"slow_conv_transpose{max(len(g.stride), 2)}d_out_cpu", "bi", dtype)
    elif any(gap > 1 for gap in g.dilation):
        refuse_kinds("slow_conv_dilated<>", "bi", dtype)


def _fresh(shape: tuple[int, ...], input: TensorMeta, weight: TensorMeta) -> TensorMeta:
    """Describe a fresh result, with the channels innermost where torch's kernels take that order from an operand."""
    if _has_channels_last(input, weight):
        return TensorMeta(shape, channels_last_strides(shape), input.dtype)
    return contiguous(shape, input.dtype)


def _has_channels_last(input: TensorMeta, weight: TensorMeta) -> bool:
    if weight.ndim == 3:
        # torch makes the input row-major, and looks at both as pictures of one row.
        (made, channels, size), (first, second, step) = weight.shape, weight.strides
        return suggests_channels_last((made, channels, 1, size), (first, second, size * step, step))
    if weight.ndim == 5 and input.dtype == float64:  # its library for three dimensions has no doubles
        return False
    return any(suggests_channels_last(each.shape, each.strides) for each in (input, weight))


def _convolution(
    input: TensorMeta,
    weight: TensorMeta,
    bias: TensorMeta | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    *,
    is_forward: bool = True,
) -> TensorMeta:
    if weight.ndim < 3:
        raise ShapeError("weight should have at least three dimensions", argument="weight")
    g = convolution_geometry(weight.shape, stride, padding, dilation, transposed, output_padding, groups)
    _check_numbers(weight.shape, g)
    _check_channels(input.shape, weight.shape, None if bias is None else bias.shape, g)
    _check_dtypes(input, weight, bias)
    sizes = _check_sizes(input.shape, weight.shape, g)
    if is_forward and 0 not in input.shape:
        _check_kernel(input.dtype, g)
    channels = weight.shape[1] * groups if transposed else weight.shape[0]
    return _fresh((input.shape[0], channels, *sizes), input, weight)


def _convolution_with_options(*args: Any) -> TensorMeta:
    return _convolution(*args[:9])


def _convolution_backward(
    grad_output: TensorMeta,
    input: TensorMeta,
    weight: TensorMeta,
    bias_sizes: Sequence[int] | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    output_mask: Sequence[bool],
) -> tuple[TensorMeta, TensorMeta, TensorMeta]:
    made = _convolution(
        input, weight, None, stride, padding, dilation, transposed, output_padding, groups, is_forward=False
    )
    if grad_output.shape != made.shape:
        raise ShapeError(
            f"expected a gradient of shape {list(made.shape)}, but got {list(grad_output.shape)}",
            argument="grad_output",
        )
    metas = (
        _fresh(input.shape, input, weight),
        _fresh(weight.shape, input, weight),
        contiguous((made.shape[1],), input.dtype),
    )
    left_out = contiguous((0,), input.dtype)
    first, second, third = (meta if wanted else left_out for meta, wanted in zip(metas, output_mask, strict=True))
    return first, second, third


def _conv_tbc(self: TensorMeta, weight: TensorMeta, bias: TensorMeta, pad: int = 0) -> TensorMeta:
    for meta, name, ndim in ((self, "Input", 3), (weight, "Weight", 3), (bias, "Bias", 1)):
        if meta.ndim != ndim:
            what = "time, batch, in_channels" if name == "Input" else "kernel width, in_channels, out_channels"
            text = f"{name} must have {ndim} dims: {what}." if ndim == 3 else "Bias must be 1-D"
            raise ShapeError(text, argument={"Input": "self"}.get(name, name.lower()))
    time = self.shape[0] + 2 * pad - weight.shape[0] + 1
    if self.shape[2] != weight.shape[1]:
        raise ShapeError(
            f"Input dim 2 (input channels) is not == dim 1 in the weight tensor; got {self.shape[2]} and "
            f"{weight.shape[1]}",
            argument="weight",
        )
    if weight.shape[2] != bias.shape[0]:
        raise ShapeError("Bias size must equal dim 2 in the weight tensor (output channels).", argument="bias")
    return contiguous((time, self.shape[1], weight.shape[2]), result_type(self, weight))


def columns_grid(
    size: Sequence[int], kernel: Sequence[int], dilation: Sequence[int], padding: Sequence[int], stride: Sequence[int]
) -> tuple[int, ...]:
    """Return how often a window of ``im2col`` moves along each dimension."""
    return tuple(
        (length + 2 * pad - (gap * (span - 1) + 1)) // step + 1
        for length, span, gap, pad, step in zip(size, kernel, dilation, padding, stride, strict=True)
    )


def _check_columns(
    kernel_size: Sequence[int], dilation: Sequence[int], padding: Sequence[int], stride: Sequence[int]
) -> None:
    for name, what, values in (
        ("kernel_size", "kernel", kernel_size),
        ("dilation", "dilation", dilation),
        ("padding", "padding", padding),
        ("stride", "stride", stride),
    ):
        if len(values) != 2:
            raise ShapeError(f"It is expected {name} equals to 2, but got size {len(values)}", argument=name)
        if name == "padding" and min(values) < 0:
            raise OperatorError(
                f"padding should be non-negative, but got pad_height: {values[0]} pad_width: {values[1]}", argument=name
            )
        if name != "padding" and min(values) <= 0:
            raise OperatorError(
                f"{what} should be greater than zero, but got {what}_height: {values[0]} {what}_width: {values[1]}",
                argument=name,
            )


def _im2col(
    self: TensorMeta,
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> TensorMeta:
    _check_columns(kernel_size, dilation, padding, stride)
    if self.ndim not in (3, 4) or 0 in self.shape[-3:]:
        raise ShapeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, "
            f"but got: {list(self.shape)}",
            argument="self",
        )
    grid = columns_grid(self.shape[-2:], kernel_size, dilation, padding, stride)
    if min(grid) < 1:
        raise ShapeError(
            f"Given input with spatial size ({self.shape[-2]}, {self.shape[-1]}), kernel_size={_tuple(kernel_size)}, "
            f"dilation={_tuple(dilation)}, padding={_tuple(padding)}, stride={_tuple(stride)}, calculated shape of the "
            f"array of sliding blocks as {_tuple(grid)}, but its components must be at least one.",
            argument="self",
        )
    return contiguous((*self.shape[:-3], self.shape[-3] * prod(kernel_size), prod(grid)), self.dtype)


def _tuple(values: Sequence[int]) -> str:
    return f"({', '.join(map(str, values))})"


def _col2im(
    self: TensorMeta,
    output_size: Sequence[int],
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> TensorMeta:
    if len(output_size) != 2:
        raise ShapeError(
            f"It is expected output_size equals to 2, but got size {len(output_size)}", argument="output_size"
        )
    _check_columns(kernel_size, dilation, padding, stride)
    if self.ndim not in (2, 3) or 0 in self.shape[-2:]:
        raise ShapeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
            f"input, but got: {list(self.shape)}",
            argument="self",
        )
    window = prod(kernel_size)
    if self.shape[-2] % window:
        raise ShapeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={self.shape[-2]} and kernel_size={_tuple(kernel_size)}.",
            argument="self",
        )
    grid = columns_grid(output_size, kernel_size, dilation, padding, stride)
    given = (
        f"Given output_size={_tuple(output_size)}, kernel_size={_tuple(kernel_size)}, dilation={_tuple(dilation)}, "
        f"padding={_tuple(padding)}, stride={_tuple(stride)}, "
    )
    if min(grid) < 1:
        raise ShapeError(
            f"{given}calculated shape of the array of sliding blocks as {_tuple(grid)}, which is too small (non-positive)",
            argument="output_size",
        )
    if self.shape[-1] != prod(grid):
        raise ShapeError(
            f"{given}expected size of input's dimension 2 to match the "
            f"calculated number of sliding blocks {grid[0]} * {grid[1]} = {prod(grid)}, but got "
            f"input.size(2)={self.shape[-1]}.",
            argument="self",
        )
    if min(output_size) < 1:
        raise ShapeError(f"Expected positive output_size, but got {_tuple(output_size)}", argument="output_size")
    return contiguous((*self.shape[:-2], self.shape[-2] // window, *output_size), self.dtype)
