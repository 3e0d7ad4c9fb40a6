"""Quantized tensors of numbers, and of integers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dispatch_aten.dtypes import QUANTIZED, ScalarType
from dispatch_core.keys import LAYOUTS
from dispatch_core.tracebacks import api_boundary

from ..creation.factories import FACTORIES
from ..history.grad_mode import no_grad
from ..tensors.tensor import Tensor
from ..values.dtypes import dtype as DType  # noqa: N812  # torch's name is that of an argument
from ..values.qschemes import per_channel_affine
from .arguments import refuse_key, takes
from .numbers import make, quantize_channels
from .tensor import expect_dtype, wrap_quantized

_OF_INTEGERS = {integers: quantized for quantized, integers in QUANTIZED.items()}


def _check_input(input: Tensor, name: str) -> None:
    if input._dispatch_mask & LAYOUTS:
        refuse_key(input, name, "x.dequantize() or x.to_dense() makes a tensor of numbers")
    if input.dtype is not ScalarType.Float:
        raise RuntimeError(f"Quantize only works on Float Tensor, got {input.dtype.name}\nHint: input.float()")


def _check_zero_point(zero_point: int, dtype: ScalarType, name: str) -> None:
    low, high = dtype.bounds
    if not low <= zero_point <= high:
        where = f"below lower bound {low}" if zero_point < low else f"above upper bound {high}"
        raise RuntimeError(
            f"{name} zero_point {zero_point} is {where}.".replace(f" {low}.", ".").replace(f" {high}.", ".")
        )


@takes(
    "quantize_per_tensor(Tensor input, float scale, int zero_point, ScalarType dtype) -> Tensor",
    "quantize_per_tensor.tensor_qparams(Tensor input, Tensor scale, Tensor zero_point, ScalarType dtype) -> Tensor",
    "quantize_per_tensor.tensors(Tensor[] tensors, Tensor scales, Tensor zero_points, ScalarType dtype) -> Tensor[]",
)
def quantize_per_tensor(input: Any, scale: Any, zero_point: Any, dtype: DType) -> Any:
    """Return ``round(input / scale) + zero_point`` in a quantized dtype, the nearest number where there is none.

    ``input`` is a tensor of float32, or a list of them with tensors of as many scales and zero points. Raises
    ``RuntimeError`` for another dtype, and for a zero point that the dtype does not have.
    Source: ``torch.quantize_per_tensor``.

    >>> import torchlike
    >>> quantize_per_tensor(torchlike.tensor([-1., 0., 1.26]), 0.1, 10, torchlike.quint8).int_repr()
    tensor([ 0, 10, 23], dtype=torchlike.uint8)
    """
    if isinstance(input, (list, tuple)):
        return tuple(quantize_per_tensor(each, scale[i], zero_point[i].long(), dtype) for i, each in enumerate(input))
    _check_input(input, "quantize_per_tensor")
    expect_dtype(dtype, f"ScalarType {dtype.name} is not supported in new_qtensor.")
    if isinstance(scale, Tensor):
        scale, zero_point = float(scale.item()), int(zero_point.item())
    _check_zero_point(zero_point, dtype, "quantize_tensor_per_tensor_affine")
    with no_grad():
        return make(input.detach(), scale, zero_point, dtype)


@takes("quantize_per_tensor_dynamic(Tensor input, ScalarType dtype, bool reduce_range) -> Tensor")
def quantize_per_tensor_dynamic(input: Tensor, dtype: DType, reduce_range: bool) -> Tensor:
    """Return a tensor in a quantized dtype of 8 bits, with the parameters that its least and greatest number ask for.

    ``reduce_range`` leaves a bit unused. Raises ``RuntimeError`` for a tensor that is not float32, and for one with
    infinities. Source: ``torch.quantize_per_tensor_dynamic``.

    >>> import torchlike
    >>> quantize_per_tensor_dynamic(torchlike.tensor([-1., 4.]), torchlike.quint8, False).q_zero_point()
    51
    """
    _check_input(input, "quantize_per_tensor_dynamic")
    if dtype not in (ScalarType.QInt8, ScalarType.QUInt8):
        raise RuntimeError("dtype  should be qint8 or quint8\nHint: quantize_per_tensor has qint32")
    if not input.numel():
        raise RuntimeError(
            "min(): Expected reduction dim to be specified for input.numel() == 0.\nHint: there are no numbers to cover"
        )
    scale, zero_point = choose_parameters(input, dtype, reduce_range)
    found: Tensor = quantize_per_tensor(input, scale, zero_point, dtype)
    return found


def choose_parameters(input: Tensor, dtype: ScalarType, reduce_range: bool) -> tuple[float, int]:
    """Return the scale and the zero point that cover the numbers of a tensor, and zero."""
    return find_parameters(*find_range(input), *find_bounds(dtype, reduce_range))


def find_range(input: Tensor) -> tuple[float, float]:
    """Return the least and the greatest number of a tensor, zeros where it has none."""
    detached = input.detach()
    return (float(detached.min().item()), float(detached.max().item())) if input.numel() else (0.0, 0.0)


def find_bounds(dtype: ScalarType, reduce_range: bool) -> tuple[int, int]:
    """Return the least and the greatest integer that numbers become; ``reduce_range`` leaves a bit unused."""
    low, high = dtype.bounds
    return (low // 2, high // 2) if reduce_range else (low, high)


def find_parameters(least: float, greatest: float, low: int, high: int) -> tuple[float, int]:
    """Return the scale and the zero point by which integers from ``low`` to ``high`` cover numbers (source: fbgemm).

    >>> find_parameters(-1.0, 4.0, 0, 255)
    (0.0196078431372549, 51)
    """
    check_range(least, greatest)
    least, greatest = min(least, 0.0), max(greatest, 0.0)
    if not (math.isfinite(least) and math.isfinite(greatest)):
        raise RuntimeError("quantize_tensor_per_tensor_affine zero_point -2147483648 is below lower bound.")
    scale = (greatest - least) / (high - low)
    # The reciprocal of a scale has to be a float32.
    if abs(scale) < 1 / float(np.finfo(np.float32).max):
        scale = 0.1
    if scale < _SMALLEST:
        original, scale = scale, float(np.float32(_SMALLEST))
        if least == 0:
            greatest = _SMALLEST * (high - low)
        elif greatest == 0:
            least = -_SMALLEST * (high - low)
        else:
            least, greatest = least * _SMALLEST / original, greatest * _SMALLEST / original
    from_low, from_high = low - least / scale, high - greatest / scale
    error_low, error_high = abs(low) - abs(least / scale), abs(high) - abs(greatest / scale)
    start = from_low if error_low < error_high else from_high
    if start < low:
        return scale, low
    return scale, high if start > high else int(np.rint(start))


def check_range(least: float, greatest: float) -> None:
    """Raise ``RuntimeError`` where a range has no bounds, as that of numbers with NaN."""
    if math.isnan(least) or math.isnan(greatest):
        raise RuntimeError(
            "In ChooseQuantizationParams, min should be less than or equal to max, but got NaN\n"
            "Hint: nan_to_num() replaces it"
        )


_SMALLEST = 6.1e-5


@takes("quantize_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, ScalarType dtype) -> Tensor")
def quantize_per_channel(input: Tensor, scales: Tensor, zero_points: Tensor, axis: int, dtype: DType) -> Tensor:
    """Return a tensor in a quantized dtype whose indices of the dimension ``axis`` have parameters of their own.

    ``scales`` and ``zero_points`` have an element for each; zero points that are floating point, with ``quint8``, are
    ``per_channel_affine_float_qparams``. Raises ``RuntimeError`` for others. Source: ``torch.quantize_per_channel``.

    >>> import torchlike
    >>> scales, zero_points = torchlike.tensor([0.1, 0.5]), torchlike.tensor([0, 1])
    >>> quantize_per_channel(torchlike.ones(2, 1), scales, zero_points, 0, torchlike.qint8).int_repr()
    tensor([[10],
            [ 3]], dtype=torchlike.int8)
    """
    _check_input(input, "quantize_per_channel")
    expect_dtype(dtype)
    scales, zero_points = _check_channels(input, scales, zero_points, axis)
    if not zero_points.is_floating_point() and not zero_points.is_meta:
        for each in zero_points.tolist():
            _check_zero_point(each, dtype, "quantize_tensor_per_channel_affine")
    with no_grad():
        integers = quantize_channels(input.detach(), scales, zero_points, axis, dtype)
    return wrap_quantized(integers, scales, zero_points, dtype, axis)


def _check_channels(input: Tensor, scales: Tensor, zero_points: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """Return the parameters as a record has them; raises ``RuntimeError``, in torch's words, for others."""
    if not scales.is_floating_point():
        raise RuntimeError(f"scale tensor must be floating point\nHint: scales.double(); they are {scales.dtype!r}")
    if scales.dim() != 1:
        raise RuntimeError("scale tensor must have dimension 1")
    if zero_points.dim() != 1:
        raise RuntimeError("zero_points tensor must have dimension 1")
    if scales.numel() != zero_points.numel():
        raise RuntimeError("number of elements in scales and zero_points must match")
    if not 0 <= axis < input.dim():
        raise RuntimeError(
            f"Channel axis out of range in per channel affine quantization. Got: {axis} Expected: [0, {input.dim()})"
        )
    if input.shape[axis] != scales.numel():
        raise RuntimeError(
            f"length of scales must equal to channel, expected {input.shape[axis]} got, {scales.numel()}"
        )
    scales, zero_points = scales.detach(), zero_points.detach()
    if zero_points.is_floating_point():
        return scales.to(ScalarType.Float, copy=True), zero_points.to(ScalarType.Float, copy=True)
    return scales.to(ScalarType.Double, copy=True), zero_points.to(ScalarType.Long, copy=True)


@api_boundary
def _empty_affine_quantized(
    size: Sequence[int],
    *,
    scale: float = 1,
    zero_point: int = 0,
    dtype: DType | None = None,
    device: Any = None,
    **others: Any,
) -> Tensor:
    """Return a quantized tensor of a size, whose elements are not set."""
    integers = expect_dtype(dtype)
    made = FACTORIES["empty"](list(size), dtype=integers, device=device)
    assert dtype is not None
    return wrap_quantized(made, float(scale), int(zero_point), dtype)


@api_boundary
def _empty_per_channel_affine_quantized(
    size: Sequence[int],
    *,
    scales: Tensor,
    zero_points: Tensor,
    axis: int,
    dtype: DType | None = None,
    device: Any = None,
    **others: Any,
) -> Tensor:
    """Return a quantized tensor of a size with parameters of channels, whose elements are not set."""
    integers = expect_dtype(dtype)
    made = FACTORIES["empty"](list(size), dtype=integers, device=device)
    assert dtype is not None
    return wrap_quantized(made, *_check_channels(made, scales, zero_points, axis), dtype, axis)


@takes("_make_per_tensor_quantized_tensor(Tensor input, float scale, int zero_point) -> Tensor")
def _make_per_tensor_quantized_tensor(input: Tensor, scale: float, zero_point: int) -> Tensor:
    """Return a quantized tensor with a copy of integers."""
    return wrap_quantized(input.clone(), float(scale), int(zero_point), _quantized_dtype(input))


@takes("_make_per_channel_quantized_tensor(Tensor input, Tensor scale, Tensor zero_point, int axis) -> Tensor")
def _make_per_channel_quantized_tensor(input: Tensor, scale: Tensor, zero_point: Tensor, axis: int) -> Tensor:
    """Return a quantized tensor with a copy of integers, and parameters of channels."""
    parameters = _check_channels(input, scale, zero_point, axis)
    return wrap_quantized(input.clone(), *parameters, _quantized_dtype(input), axis)


def _quantized_dtype(input: Tensor) -> ScalarType:
    found = _OF_INTEGERS.get(input.dtype)
    if found is None:
        raise RuntimeError(
            f"ScalarType {input.dtype.name} is not supported in toQIntType\nHint: integers are int8, uint8 or int32"
        )
    return found


def rebuild(integers: Tensor, parameters: tuple[Any, ...], dtype: ScalarType) -> Tensor:
    """Return a quantized tensor of integers and parameters as files have them; raises ``ValueError`` for others."""
    scheme, scale, zero_point, *rest = parameters
    if not rest:
        if not isinstance(scale, float) or not isinstance(zero_point, int):
            raise ValueError("a quantized tensor has no scale or zero point")
        return wrap_quantized(integers, scale, zero_point, dtype)
    if isinstance(scale, list):  # of older files
        kind = ScalarType.Double if scheme is per_channel_affine else ScalarType.Float
        point = ScalarType.Long if scheme is per_channel_affine else ScalarType.Float
        scale, zero_point = FACTORIES["tensor"](scale, dtype=kind), FACTORIES["tensor"](zero_point, dtype=point)
    if not isinstance(scale, Tensor) or not isinstance(zero_point, Tensor) or type(rest[0]) is not int:
        raise ValueError("a quantized tensor has no scales or zero points")
    return wrap_quantized(integers, *_check_channels(integers, scale, zero_point, rest[0]), dtype, rest[0])
