"""HCCL's numbers of scalar types and reductions, and which of them it combines (source: ``hccl_types.h`` of CANN 8.1)."""

from __future__ import annotations

from typing import Final

from dispatch_aten.dtypes import ScalarType
from dispatch_aten.errors import DtypeError, OperatorError

HCCL_SEND: Final = 0
HCCL_RECV: Final = 1

DATA_TYPES: Final[dict[ScalarType, int]] = {
    ScalarType.Char: 0,
    ScalarType.Short: 1,
    ScalarType.Int: 2,
    ScalarType.Half: 3,
    ScalarType.Float: 4,
    ScalarType.Long: 5,
    ScalarType.UInt64: 6,
    ScalarType.Byte: 7,
    ScalarType.UInt16: 8,
    ScalarType.UInt32: 9,
    ScalarType.Double: 10,
    ScalarType.BFloat16: 11,
}
"""HCCL's number of each scalar type that it moves. Truth values and complex numbers come as views of these."""

REDUCTIONS: Final = {"sum": 0, "product": 1, "max": 2, "min": 3}
"""HCCL's number of each reduction. The average is the sum, divided by the caller."""

_REDUCED: Final = frozenset(
    {
        ScalarType.Char,
        ScalarType.Short,
        ScalarType.Int,
        ScalarType.Long,
        ScalarType.Half,
        ScalarType.BFloat16,
        ScalarType.Float,
    }
)
#: By the library's own check of products.
_NO_PRODUCTS: Final = frozenset({ScalarType.Short, ScalarType.BFloat16})


def number_of(function: str, dtype: ScalarType) -> int:
    """Return HCCL's number of a scalar type. Raises ``DtypeError`` for one that it does not move."""
    if dtype not in DATA_TYPES:
        raise DtypeError(f"{function} has no {dtype}", hint="convert the tensor first, or view it as bytes")
    return DATA_TYPES[dtype]


def numbers_of(function: str, dtype: ScalarType, reduction: str) -> tuple[int, int]:
    """Return HCCL's numbers of a scalar type and a reduction.

    Raises ``DtypeError`` where an Atlas A2 does not combine such numbers so, ``OperatorError`` for another reduction.
    """
    if reduction not in REDUCTIONS:
        raise OperatorError(f"{function} has no reduction {reduction!r}", hint=f"choose from {', '.join(REDUCTIONS)}")
    if dtype not in _REDUCED or (reduction == "product" and dtype in _NO_PRODUCTS):
        raise DtypeError(f"{function} does not take {dtype} for {reduction}", hint="convert the tensor first")
    return DATA_TYPES[dtype], REDUCTIONS[reduction]
