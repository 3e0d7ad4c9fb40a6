"""Products of integers, exact, and their sums as integers of a quantized result.

Note [Exact products in floating point]
    NumPy multiplies matrices of integers without BLAS, so they are multiplied as float32. A product of a number of 9 bits,
    which an input less its zero point has, and one of 8 bits is at most 255 * 128, and float32 is exact up to 2 ** 24: sums
    of 514 of them are. The inner dimension is cut into blocks of 512, whose sums are added in int32; a convolution over
    more is computed in float64 as a whole.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from dispatch_aten.dtypes import ScalarType

from ..creation.factories import as_tensor
from ..tensors.tensor import Tensor
from .tensor import Quantized

_FLOAT, _DOUBLE, _INT = ScalarType.Float, ScalarType.Double, ScalarType.Int
#: How many products float32 adds exactly; a multiple of what processors take at once.
BLOCK: Final = 512


def multiply(x: Tensor, weight: Tensor) -> Tensor:
    """Return the product of matrices of integers, which are given as float32, in int32."""
    inner = x.shape[1]
    total = (x[:, :BLOCK] @ weight[:BLOCK]).to(_INT)
    for start in range(BLOCK, inner, BLOCK):
        total += (x[:, start : start + BLOCK] @ weight[start : start + BLOCK]).to(_INT)
    return total


def center(record: Quantized) -> Tensor:
    """Return the integers less the zero point, as float32."""
    wide = record.integers.to(_FLOAT)
    return wide - float(record.zero_point) if record.zero_point else wide


def convolve(x: Tensor, weight: Tensor, products: int, call: Any) -> Tensor:
    """Return the convolution ``call(x, weight)`` of integers as int32, each of which is a sum of so many products."""
    if products > BLOCK:
        x, weight = x.to(_DOUBLE), weight.to(_DOUBLE)
    found: Tensor = call(x, weight).to(_INT)
    return found


def scale_sums(
    sums: Tensor, input_scale: float, weight_scale: Any, output_scale: float, bias: Tensor | None, shape: list[int]
) -> tuple[Tensor, Tensor]:
    """Return sums with the bias in their units, as float32, and the number that makes units of the output of them."""
    scales = weight_scale
    if not isinstance(scales, Tensor):
        scales = as_tensor([weight_scale], dtype=_FLOAT, device=sums.device)
    unit = scales.to(_FLOAT) * _single(input_scale)
    numbers = sums.to(_FLOAT)
    if bias is not None:
        numbers = numbers + (bias.detach() / unit).reshape(shape)
    return numbers, (unit / _single(output_scale)).reshape(shape)


def _single(value: float) -> float:
    return float(np.float32(value))
