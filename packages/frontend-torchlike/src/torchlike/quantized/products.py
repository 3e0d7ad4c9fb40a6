"""Products of integers, exact, and their sums as integers of a quantized result.

Note [Exact products in floating point]
    NumPy multiplies matrices of integers without BLAS, so they are multiplied as float32. A product of a number of 9 bits,
    which an input less its zero point has, and one of 8 bits is at most 255 * 128, and float32 is exact up to 2 ** 24: sums
    of 514 of them are. The inner dimension is cut into blocks of 512, whose sums are added in int32; a convolution over
    more is computed in float64 as a whole. A linear layer's own weights are looked at once: where the numbers of each
    column add up to less, the blocks are larger.
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


def multiply(x: Tensor, weight: Tensor, block: int = BLOCK) -> Tensor:
    """Return the product of matrices of integers, which are given as float32; see Note [Exact products in floating point].

    It has one block in float32, several in int32.
    """
    inner = x.shape[1]
    if inner <= block:
        return x @ weight
    total = (x[:, :block] @ weight[:block]).to(_INT)
    for start in range(block, inner, block):
        total += (x[:, start : start + block] @ weight[start : start + block]).to(_INT)
    return total


def find_block(weight: Tensor, zero_point: int, dtype: ScalarType) -> int:
    """Return how many products of a weight's columns float32 adds exactly, as the weight's integers are.

    An input less its zero point is no greater than the larger distance to the ends of its dtype.
    """
    low, high = dtype.bounds
    farthest = max(zero_point - low, high - zero_point)
    sizes = np.abs(np.asarray(weight.tolist(), np.float64).reshape(weight.shape)).cumsum(0)
    inner = sizes.shape[0]
    for count in range(1, inner // BLOCK + 1):
        block = -(-inner // count)
        ends = sizes[[*range(block - 1, inner, block), -1]]
        if (np.diff(ends, axis=0, prepend=0.0) * farthest).max(initial=0.0) <= 2.0**24:
            return block
    return BLOCK


def center(record: Quantized) -> Tensor:
    """Return the integers less the zero point, as float32 in row-major order."""
    wide = record.integers.contiguous().to(_FLOAT)
    return wide.sub_(float(record.zero_point)) if record.zero_point else wide


def convolve(x: Tensor, weight: Tensor, products: int, call: Any) -> Tensor:
    """Return the convolution ``call(x, weight)`` of integers, each of which is a sum of so many products.

    It is exact: float32 of one block, else float64.
    """
    if products > BLOCK:
        x, weight = x.to(_DOUBLE), weight.to(_DOUBLE)
    found: Tensor = call(x, weight)
    return found


def find_units(
    input_scale: float, weight_scale: Any, output_scale: float, bias: Tensor | None, shape: list[int]
) -> tuple[Tensor | None, Tensor, Tensor]:
    """Return the bias in units of sums, the number that makes units of the output of them, and that of numbers."""
    scales = weight_scale if isinstance(weight_scale, Tensor) else as_tensor([weight_scale])
    unit = scales.to(_FLOAT) * _single(input_scale)
    added = None if bias is None else (bias / unit).reshape(shape)
    return added, (unit / _single(output_scale)).reshape(shape), unit.reshape(shape)


def _single(value: float) -> float:
    return float(np.float32(value))
