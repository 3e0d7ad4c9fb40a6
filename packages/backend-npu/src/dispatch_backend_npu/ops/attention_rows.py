"""What attention saves of each row for its gradient.

Note [Statistics of rows]
    The function writes the largest score of each row and the sum of exponentials below it, eight times each, and the
    gradient's reads them. Torch's operator returns the logarithm of the whole sum instead: it is made of the two where a
    program, or a plan, reads it (`StatisticsBlock`). To the gradient's function it is a largest score, with a sum of 1.
"""

from __future__ import annotations

from math import inf
from typing import Final

from dispatch_aten.dtypes import ScalarType
from dispatch_aten.shapes import TensorMeta, contiguous

from ..aclnn.launch import allocate_result, launch
from ..arrays import AclArray
from ..late_blocks import LateBlock

TIMES: Final = 8
"""How often the functions write each number of a row."""

#: Below every largest score but that of a row without one.
_LOWEST: Final = -3.0e38


class StatisticsBlock(LateBlock):
    """The memory of ``log_sumexp``, see Note [Statistics of rows]; it holds the largest scores and the sums."""

    __slots__ = ("is_masked",)

    def __init__(self, spec: TensorMeta, held: tuple[AclArray, ...], *, is_masked: bool) -> None:
        super().__init__(spec, held)
        self.is_masked = is_masked

    def fill(self, values: AclArray, *held: AclArray) -> None:
        """Write the logarithms of the whole sums."""
        add_logarithms(values, *held, is_masked=self.is_masked)


def add_logarithms(values: AclArray, largest: AclArray, sums: AclArray, *, is_masked: bool) -> None:
    """Write the logarithm of each row's whole sum; it is infinite for a row without a score."""
    first = [each.view(each.spec.shape[:3], each.spec.strides[:3], 0) for each in (largest, sums)]
    launch("aclnnLog", first[1], values)
    launch("aclnnInplaceAdd", values, first[0], 1)
    if is_masked:
        is_empty = allocate_result(contiguous(values.spec.shape, ScalarType.Bool))
        launch("aclnnLtScalar", values, _LOWEST, is_empty)
        launch("aclnnInplaceMaskedFillScalar", values, is_empty, inf)


def statistics_of(rows: AclArray) -> tuple[AclArray, AclArray]:
    """Return the largest scores and the sums of ``log_sumexp``, see Note [Statistics of rows]."""
    held = rows.block.held_for(rows) if isinstance(rows.block, StatisticsBlock) else None
    if held is not None:
        return held[0], held[1]
    shape = (*rows.spec.shape, TIMES)
    one = allocate_result(contiguous((1,), ScalarType.Float))
    launch("aclnnInplaceOne", one)
    return rows.view(shape, (*rows.spec.strides, 0), rows.storage_offset), one.view(shape, (0,) * 4, 0)
