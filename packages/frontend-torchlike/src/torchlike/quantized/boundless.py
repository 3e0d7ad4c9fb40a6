"""Products of numbers with infinities and NaN, which are quantized by their own range, as torch's kernels give them.

Note [Ranges without bounds]
    NaN is left out of the range, unless it is the first number, which torch refuses; it becomes the greatest integer.
    (torch also forgets numbers before a NaN, those that lie a multiple of 8 before it.) A range with an infinity has an
    infinite scale: numbers become zero, and infinities the greatest integer. Where the range has no upper bound, the zero
    point is the least number of int32, so that sums overflow.
"""

from __future__ import annotations

import math
from typing import Any, Final

from dispatch_aten.dtypes import ScalarType

from ..functions.operator_functions import FUNCTIONS
from ..tensors.tensor import Tensor
from .construction import check_range

_LEAST: Final = -(2**31)
_GREATEST: Final = 255


def find_known_range(x: Tensor) -> tuple[float, float]:
    """Return the least and the greatest number but for NaN; ``RuntimeError`` where the first is NaN."""
    first = x.reshape(-1)[0].item()
    check_range(first, first)
    unknown = x.isnan()
    return x.masked_fill(unknown, math.inf).min().item(), x.masked_fill(unknown, -math.inf).max().item()


def sum_without_bounds(x: Tensor, weight: Tensor, zero_points: Any, greatest: float, high: int) -> Tensor:
    """Return the sums of products for a range with an infinity, as int32; ``weight`` has rows of the inner dimension.

    See Note [Ranges without bounds].
    """
    zero_point = high if greatest < math.inf else _LEAST
    usual = max(zero_point, 0)
    unknown = FUNCTIONS["logical_not"](x.isfinite())
    integers = unknown.to(ScalarType.Long) * (_GREATEST - usual) + usual
    wide = weight.to(ScalarType.Long)
    if zero_points is not None:
        wide = wide - (zero_points.to(ScalarType.Long) if isinstance(zero_points, Tensor) else int(zero_points))
    return ((integers - zero_point) @ wide).to(ScalarType.Int)
