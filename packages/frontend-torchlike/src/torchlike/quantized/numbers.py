"""Numbers to integers and back, bit by bit as torch's kernels compute them.

Note [Rounding of quantized numbers]
    torch rounds half to even in several ways, which differ where a number lies in the middle between two integers. A whole
    tensor of 8 bits is ``round(x * (1 / scale) + zero_point)`` with one rounding for product and sum (``fma``); one of 32
    bits, a channel and a single number round the product first. Operators that compute in blocks add the zero point to the
    rounded product. Numbers are float32 throughout, but for the scales of channels, which are float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatch_aten.dtypes import QUANTIZED, ScalarType

from ..functions.operator_functions import FUNCTIONS
from ..tensors.tensor import Tensor
from .tensor import Quantized, with_integers, wrap_quantized

_DOUBLE, _FLOAT = ScalarType.Double, ScalarType.Float


def invert(scale: float) -> float:
    """Return the float32 that numbers are multiplied by."""
    with np.errstate(over="ignore", divide="ignore"):
        return float(np.float32(1) / np.float32(scale))


def saturate(values: Tensor, dtype: ScalarType) -> Tensor:
    """Return rounded numbers, which it may write to, as integers; NaN is the greatest, of 32 bits the least."""
    low, high = dtype.bounds
    if dtype is ScalarType.QInt32:
        return FUNCTIONS["nan_to_num"](values.double().clamp_(low, high), nan=low).to(QUANTIZED[dtype])
    return FUNCTIONS["nan_to_num"](values.clamp_(low, high), nan=high).to(QUANTIZED[dtype])


def quantize_numbers(x: Tensor, scale: float, zero_point: int, dtype: ScalarType) -> Tensor:
    """Return the integers of a whole tensor; see Note [Rounding of quantized numbers]."""
    if dtype is ScalarType.QInt32:
        return saturate((x * invert(scale) + float(zero_point)).round(), dtype)
    return saturate(x.to(_DOUBLE, copy=True).mul_(invert(scale)).add_(float(zero_point)).to(_FLOAT).round_(), dtype)


def quantize_in_blocks(x: Tensor, scale: float, zero_point: int, dtype: ScalarType) -> Tensor:
    """Return the integers as operators that compute in blocks do; see Note [Rounding of quantized numbers]."""
    if dtype is ScalarType.QInt32:
        return quantize_numbers(x, scale, zero_point, dtype)
    return saturate((x * invert(scale)).round_().add_(float(zero_point)), dtype)


def quantize_number(value: float, scale: float, zero_point: int, dtype: ScalarType) -> int:
    """Return the integer of a single number."""
    low, high = dtype.bounds
    scaled = np.float32(value) * np.float32(invert(scale))
    rounded = np.rint(scaled + np.float32(zero_point))
    return high if np.isnan(rounded) else int(min(max(float(rounded), low), high))


def spread(values: Tensor, axis: int, dims: int) -> Tensor:
    """Return a vector along one of some dimensions."""
    return values.reshape([-1 if dim == axis else 1 for dim in range(dims)])


def quantize_channels(x: Tensor, scales: Tensor, zero_points: Tensor, axis: int, dtype: ScalarType) -> Tensor:
    """Return the integers of a tensor whose indices of a dimension have parameters of their own."""
    inverses = FUNCTIONS["reciprocal"](scales.float())
    inverses = FUNCTIONS["where"](scales.float() == 0, FUNCTIONS["ones_like"](inverses), inverses)
    scaled = x * spread(inverses, axis, x.dim()) + spread(zero_points.float(), axis, x.dim())
    return saturate(scaled.round_(), dtype)


def dequantize(record: Quantized) -> Tensor:
    """Return the numbers of a quantized tensor, in float32."""
    integers = record.integers
    if record.axis is None:
        if record.dtype is not ScalarType.QInt32:  # float32 has all of them exactly
            return integers.to(_FLOAT).sub_(float(record.zero_point)).mul_(float(np.float32(record.scale)))
        wide = integers.to(ScalarType.Long)
        return wide.sub_(record.zero_point).to(_FLOAT).mul_(float(np.float32(record.scale)))
    scales, zero_points = (spread(each, record.axis, integers.dim()) for each in (record.scale, record.zero_point))
    away = integers.to(_FLOAT) - zero_points.to(_FLOAT)
    return away * scales.to(_FLOAT) if zero_points.is_floating_point() else (away.double() * scales).to(_FLOAT)


def dequantize_in_blocks(record: Quantized) -> Tensor:
    """Return the numbers as operators that compute in blocks do: product and sum are rounded once."""
    if record.axis is not None:
        return dequantize(record)
    scale = np.float32(record.scale)
    offset = float(scale * np.float32(-record.zero_point))
    return (record.integers.double() * float(scale) + offset).to(_FLOAT)


def requantize(x: Tensor, record: Quantized) -> Tensor:
    """Return numbers with the parameters of a quantized tensor, as whole tensors are quantized."""
    x = x.to(_FLOAT)
    if record.axis is None:
        return with_integers(record, quantize_numbers(x, record.scale, record.zero_point, record.dtype))
    return with_integers(record, quantize_channels(x, record.scale, record.zero_point, record.axis, record.dtype))


def make(x: Tensor, scale: float, zero_point: int, dtype: ScalarType, *, in_blocks: bool = False) -> Tensor:
    """Return numbers as a quantized tensor of these parameters."""
    quantize: Any = quantize_in_blocks if in_blocks else quantize_numbers
    return wrap_quantized(quantize(x, scale, zero_point, dtype), scale, zero_point, dtype)
