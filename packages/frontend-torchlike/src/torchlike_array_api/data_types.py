"""Dtypes under the standard's names, their limits, and how they convert."""

from __future__ import annotations

__name__ = "torchlike.array_api.data_types"  # see Note [Public paths]

import sys
from dataclasses import dataclass
from typing import Any, Final

from dispatch_aten.dtypes import ScalarType
from torchlike.tensors.tensor import Tensor
from torchlike.values import dtypes

from .operands import result_of

__all__ = ["DTYPES", "KINDS", "astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type"]

DTYPES: Final = {
    dtype.short: dtype
    for dtype in (
        ScalarType.Bool,
        ScalarType.Char,
        ScalarType.Short,
        ScalarType.Int,
        ScalarType.Long,
        ScalarType.Byte,
        ScalarType.UInt16,
        ScalarType.UInt32,
        ScalarType.UInt64,
        ScalarType.Float,
        ScalarType.Double,
        ScalarType.ComplexFloat,
        ScalarType.ComplexDouble,
    )
}
"""The standard's dtypes by name."""


_ALL: Final = frozenset(ScalarType)
_INTEGRAL: Final = frozenset(dtype for dtype in _ALL if dtype.is_integral)
_REAL: Final = frozenset(dtype for dtype in _ALL if dtype.is_floating_point)
_COMPLEX: Final = frozenset(dtype for dtype in _ALL if dtype.is_complex)
KINDS: Final = {
    "bool": frozenset({ScalarType.Bool}),
    "signed integer": frozenset(dtype for dtype in _INTEGRAL if dtype.is_signed),
    "unsigned integer": frozenset(dtype for dtype in _INTEGRAL if not dtype.is_signed),
    "integral": _INTEGRAL,
    "real floating": _REAL,
    "complex floating": _COMPLEX,
    "numeric": _INTEGRAL | _REAL | _COMPLEX,
}
"""The standard's kinds of dtypes by name."""


def astype(x: Tensor, dtype: ScalarType, /, *, copy: bool = True, device: Any = None) -> Tensor:
    """Return the elements converted to a dtype, always in memory of their own unless ``copy`` is False.

    >>> import torchlike
    >>> astype(torchlike.tensor([1.5, -2.5]), torchlike.int32)
    tensor([ 1, -2], dtype=torchlike.int32)
    """
    return x.to(device=x.device if device is None else device, dtype=dtype, copy=copy)


def can_cast(from_: ScalarType | Tensor, to: ScalarType, /) -> bool:
    """Return whether every value of a dtype, or of a tensor's dtype, converts to another by promotion.

    >>> can_cast(DTYPES["int8"], DTYPES["int16"]), can_cast(DTYPES["float64"], DTYPES["float32"])
    (True, False)
    """
    source = from_.dtype if isinstance(from_, Tensor) else from_
    try:
        return result_of((source, to)) is to
    except TypeError:
        return False


sys.modules[__name__] = sys.modules[__spec__.name]  # where dataclasses look their module up


@dataclass(frozen=True, slots=True)
class FloatInfo:
    """The limits of a floating-point dtype, by the standard's names."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: ScalarType


@dataclass(frozen=True, slots=True)
class IntegerInfo:
    """The limits of an integer dtype, by the standard's names."""

    bits: int
    max: int
    min: int
    dtype: ScalarType


def finfo(type: ScalarType | Tensor, /) -> FloatInfo:
    """Return the limits of a floating-point dtype, of a complex one's parts, or of a tensor's; ``TypeError`` for others.

    >>> finfo(DTYPES["complex64"]).dtype
    torchlike.float32
    """
    real = (type.dtype if isinstance(type, Tensor) else type).to_real()
    known = dtypes.finfo(real)
    return FloatInfo(known.bits, known.eps, known.max, known.min, known.smallest_normal, real)


def iinfo(type: ScalarType | Tensor, /) -> IntegerInfo:
    """Return the limits of an integer dtype, or of a tensor's; ``TypeError`` for others.

    >>> iinfo(DTYPES["int8"]).max
    127
    """
    dtype = type.dtype if isinstance(type, Tensor) else type
    known = dtypes.iinfo(dtype)
    return IntegerInfo(known.bits, known.max, known.min, dtype)


def isdtype(dtype: ScalarType, kind: ScalarType | str | tuple[ScalarType | str, ...]) -> bool:
    """Return whether a dtype is of a kind: another dtype, one of ``KINDS`` by name, or any of several.

    >>> isdtype(DTYPES["uint8"], "integral"), isdtype(DTYPES["uint8"], ("bool", "real floating"))
    (True, False)
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, each) for each in kind)
    if isinstance(kind, str):
        if kind not in KINDS:
            raise ValueError(f"unknown kind of dtypes {kind!r}\nHint: the kinds are {', '.join(map(repr, KINDS))}")
        return dtype in KINDS[kind]
    if not isinstance(kind, ScalarType):
        raise TypeError(f"a kind is a dtype, a name or a tuple of them, not {type(kind).__name__}")
    return dtype is kind


def result_type(*arrays_and_dtypes: Tensor | ScalarType | complex) -> ScalarType:
    """Return the dtype that tensors, dtypes and Python's numbers promote to.

    >>> result_type(DTYPES["uint16"], DTYPES["int16"], 2)
    torchlike.int32
    """
    return result_of(arrays_and_dtypes)
