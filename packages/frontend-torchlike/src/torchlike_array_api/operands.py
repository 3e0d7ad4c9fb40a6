"""Operands as the array API standard promotes them: tensors without dimensions count as others, numbers take their dtype."""

from __future__ import annotations

__name__ = "torchlike.array_api.operands"  # see Note [Public paths]

from collections.abc import Iterable
from functools import cache, reduce
from typing import Any, Final

from dispatch_aten import promotion
from dispatch_aten.dtypes import ScalarType, get_default_dtype
from dispatch_aten.promotion import Operand
from torchlike.creation.factories import tensor
from torchlike.tensors.tensor import Tensor

__all__ = ["promote", "promote_dtypes", "resolve_axes", "result_of"]

_NUMBERS: Final = (bool, int, float, complex)
_SIGNED: Final = {2: ScalarType.Short, 4: ScalarType.Int, 8: ScalarType.Long}


@cache
def promote_dtypes(first: ScalarType, second: ScalarType) -> ScalarType:
    """Return the dtype that two dtypes promote to; torch has no rule for unsigned integers of more than 8 bits.

    >>> from dispatch_aten.dtypes import int32, uint16, uint32
    >>> promote_dtypes(uint16, int32), promote_dtypes(uint16, uint32)
    (torchlike.int32, torchlike.uint32)
    """
    if first is second or not {first, second} & _TORCH_LACKS:
        return promotion.promote_types(first, second)
    if not (first.is_integral and second.is_integral):
        integer, other = (first, second) if first.is_integral else (second, first)
        return integer if other is ScalarType.Bool else other
    if first.is_signed == second.is_signed:
        return max(first, second, key=lambda dtype: dtype.itemsize)
    unsigned, signed = (second, first) if first.is_signed else (first, second)
    found = _SIGNED.get(max(unsigned.itemsize * 2, signed.itemsize))
    if found is None:
        raise TypeError(
            f"no integer dtype holds the values of {first} and {second}\nHint: cast one of them with astype"
        )
    return found


_TORCH_LACKS: Final = {ScalarType.UInt16, ScalarType.UInt32, ScalarType.UInt64}


def _add_number(dtype: ScalarType, number: complex) -> ScalarType:
    """Return the dtype of an array of a dtype together with a number of Python's."""
    return promotion.result_type(Operand.with_dims(dtype), number)


def result_of(values: Iterable[Any]) -> ScalarType:
    """Return the dtype that tensors, dtypes and Python's numbers promote to.

    Raises ``TypeError`` for anything else, and where no dtype holds the values of all.
    """
    dtypes: list[ScalarType] = []
    numbers: list[Any] = []
    for value in values:
        if isinstance(value, Tensor):
            dtypes.append(value.dtype)
        elif isinstance(value, ScalarType):
            dtypes.append(value)
        elif isinstance(value, _NUMBERS):
            numbers.append(value)
        else:
            raise TypeError(
                f"expected a tensor, a dtype or a number, got {type(value).__name__}\nHint: use asarray first"
            )
    if not dtypes:
        if not numbers:
            raise ValueError("at least one tensor, dtype or number is required")
        dtypes.append(_dtype_of_number(numbers.pop(0)))
    return reduce(_add_number, numbers, reduce(promote_dtypes, dtypes))


def _dtype_of_number(number: complex) -> ScalarType:
    if isinstance(number, bool):
        return ScalarType.Bool
    default = get_default_dtype()
    return (
        ScalarType.Long if isinstance(number, int) else default if isinstance(number, float) else default.to_complex()
    )


def promote(*values: Any) -> tuple[Tensor, ...]:
    """Return tensors of one dtype; a number becomes one without dimensions, on the device of the first tensor."""
    dtype = result_of(values)
    device = next((value.device for value in values if isinstance(value, Tensor)), None)
    return tuple(
        (value if value.dtype is dtype else value.to(dtype))
        if isinstance(value, Tensor)
        else tensor(value, dtype=dtype, device=device)
        for value in values
    )


def resolve_axes(axis: int | tuple[int, ...] | None, ndim: int) -> tuple[int, ...]:
    """Return the dimensions that ``axis`` names, all for None, as indices from 0 on.

    Raises ``IndexError`` for one that is out of range, ``ValueError`` for one that is named twice.

    >>> resolve_axes(-1, 3), resolve_axes(None, 2)
    ((2,), (0, 1))
    """
    if axis is None:
        return tuple(range(ndim))
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    for each in given:
        if not -ndim <= each < ndim:
            raise IndexError(f"axis {each} is out of range for {ndim} dimensions")
    found = tuple(each % ndim for each in given)
    if len({*found}) < len(found):
        raise ValueError(f"an axis is named twice in {tuple(given)}")
    return found
