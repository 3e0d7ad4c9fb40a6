"""Numbers to integers and back, bit by bit as torch's kernels compute them.

Note [Rounding of quantized numbers]
    torch rounds half to even in several ways, which differ where a number lies in the middle between two integers. A whole
    tensor of 8 bits is ``round(x * (1 / scale) + zero_point)`` with one rounding for product and sum (``fma``); one of 32
    bits, a channel and a single number round the product first. Operators that compute in blocks add the zero point to the
    rounded product. Numbers are float32 throughout, but for the scales of channels, which are float64.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from dispatch_aten.dtypes import QUANTIZED, ScalarType
from dispatch_core import frontends

from ..functions.operator_functions import FUNCTIONS
from ..tensors.tensor import Tensor, wrap
from .tensor import Quantized, with_integers, wrap_quantized

_DOUBLE, _FLOAT = ScalarType.Double, ScalarType.Float
_ARRAYS: Final = {ScalarType.QUInt8: np.uint8, ScalarType.QInt8: np.int8}


def invert(scale: float) -> float:
    """Return the float32 that numbers are multiplied by."""
    with np.errstate(over="ignore", divide="ignore"):
        return float(np.float32(1) / np.float32(scale))


def read_array(x: Tensor) -> np.ndarray[Any, Any] | None:
    """Return the array of a tensor that NumPy computes with at once; None where something sees or records operators."""
    array = x._dispatch_data
    return array if type(array) is np.ndarray and not frontends.has_masks() else None


def saturate(values: Tensor, dtype: ScalarType, nan: int | None = None) -> Tensor:
    """Return rounded numbers, which it may write to, as integers.

    NaN is ``nan``, of 32 bits the least integer; by default it is the greatest.
    """
    low, high = dtype.bounds
    if dtype is ScalarType.QInt32:
        return FUNCTIONS["nan_to_num"](values.double().clamp_(low, high), nan=low).to(QUANTIZED[dtype])
    return FUNCTIONS["nan_to_num"](values.clamp_(low, high), nan=high if nan is None else nan).to(QUANTIZED[dtype])


def quantize_numbers(x: Tensor, scale: float, zero_point: int, dtype: ScalarType) -> Tensor:
    """Return the integers of a whole tensor; see Note [Rounding of quantized numbers]."""
    inverse = invert(scale)
    if dtype is ScalarType.QInt32:
        return saturate((x * inverse + float(zero_point)).round(), dtype)
    if (array := read_array(x)) is not None:
        return wrap(_quantize_array(array, inverse, zero_point, dtype))
    if not zero_point:  # nothing is added, so the product alone is rounded
        return saturate((x * inverse).round_(), dtype)
    return saturate(x.to(_DOUBLE, copy=True).mul_(inverse).add_(float(zero_point)).to(_FLOAT).round_(), dtype)


def _quantize_array(x: np.ndarray[Any, Any], inverse: float, zero_point: int, dtype: ScalarType) -> Any:
    """Return what `quantize_numbers` does, of 8 bits, in few passes."""
    with np.errstate(all="ignore"):
        if zero_point:
            wide = x.astype(np.float64)
            wide *= inverse
            wide += zero_point
            found = wide.astype(np.float32)
        else:
            found = np.asarray(x * np.float32(inverse))
    low, high = map(np.float32, dtype.bounds)
    np.rint(found, out=found)
    np.clip(found, low, high, out=found)  # twice as quick as minimum and maximum, and keeps NaN
    if np.isnan(found.max(initial=0)):
        found[np.isnan(found)] = high
    return found.astype(_ARRAYS[dtype])


def quantize_in_blocks(x: Tensor, scale: float, zero_point: int, dtype: ScalarType) -> Tensor:
    """Return the integers as operators that compute in blocks do; see Note [Rounding of quantized numbers]."""
    if dtype is ScalarType.QInt32:
        return quantize_numbers(x, scale, zero_point, dtype)
    return saturate((x * invert(scale)).round_().add_(float(zero_point)), dtype, nan=0)


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
    """Return the integers of a tensor whose indices of a dimension have parameters of their own; NaN is 0."""
    inverses = FUNCTIONS["reciprocal"](scales.float())
    if zero_points.is_floating_point():
        inverses = FUNCTIONS["where"](scales.float() == 0, FUNCTIONS["ones_like"](inverses), inverses)
    scaled = (x * spread(inverses, axis, x.dim())).add_(spread(zero_points.float(), axis, x.dim()))
    return saturate(scaled.round_(), dtype, nan=0)


def dequantize(record: Quantized) -> Tensor:
    """Return the numbers of a quantized tensor, in float32."""
    integers = record.integers
    if record.axis is None:
        if record.dtype is not ScalarType.QInt32:  # float32 has all of them exactly
            if (array := read_array(integers)) is not None:
                found = array.astype(np.float32)
                found -= np.float32(record.zero_point)
                found *= np.float32(record.scale)
                return wrap(found)
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
