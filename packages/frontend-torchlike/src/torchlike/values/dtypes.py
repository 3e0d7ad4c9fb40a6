"""Dtypes under torch's names, their limits, and how they combine.

>>> import torchlike as t
>>> promote_types(t.float32, t.int64), can_cast(t.float64, t.int32), finfo(t.float16).max
(torchlike.float32, False, 65504.0)
"""

from __future__ import annotations

import builtins
from enum import IntEnum
from functools import cache
from typing import Any, Final

import numpy as np

import dispatch_core as dc
from dispatch_aten import promotion
from dispatch_aten.dtypes import BY_NAME, NOT_IN_NUMPY, QUANTIZED, ScalarType, as_dtype, get_default_dtype
from dispatch_aten.promotion import Operand

from ..names.lazy_names import Tensor
from ..names.spelling import spell

dtype = ScalarType

#: Every dtype by every name that torch has for it.
DTYPES: Final[dict[str, ScalarType]] = {
    **{name: value for name, value in BY_NAME.items() if name != "complex32" and value not in QUANTIZED},
    "half": ScalarType.Half,
    "float": ScalarType.Float,
    "double": ScalarType.Double,
    "short": ScalarType.Short,
    "int": ScalarType.Int,
    "long": ScalarType.Long,
    "cfloat": ScalarType.ComplexFloat,
    "cdouble": ScalarType.ComplexDouble,
}

#: A dtype that programs name, and that no backend has arrays of.
complex32 = chalf = ScalarType.ComplexHalf


#: The dtypes of quantized tensors, which `quantize_per_tensor` and its like make.
qint8, quint8, qint32 = QUANTIZED


class _PackedDtype:
    """A dtype of several quantized numbers in a byte, by name: libraries list all dtypes, and no tensor has this one."""

    __module__ = "torchlike"  # as the names of its instances
    is_floating_point = is_complex = is_signed = False
    itemsize = 1

    def __init__(self, short: str) -> None:
        self.short = short

    def __repr__(self) -> str:
        return spell(f"torchlike.{self.short}")

    def __reduce__(self) -> str:
        return self.short


quint4x2, quint2x4 = _PackedDtype("quint4x2"), _PackedDtype("quint2x4")


class memory_format(IntEnum):  # noqa: N801  # torch's name
    """An order of a tensor's elements in memory (source: ``torch.memory_format``).

    >>> memory_format.channels_last
    torchlike.channels_last
    """

    __module__ = "torchlike"  # see Note [Public paths]
    contiguous_format = 0
    preserve_format = 1
    channels_last = 2
    channels_last_3d = 3

    def __repr__(self) -> str:
        return f"{spell()}.{self.name}"

    __str__ = __repr__


def format_type(tensor: Tensor) -> str:
    """Return a tensor's type in torch's older notation: ``torchlike.FloatTensor``."""
    device = tensor.device.type
    return f"{spell()}.{'' if device == 'cpu' else device + '.'}{tensor.dtype.name}Tensor"


@cache
def to_numpy_dtype(scalar_type: ScalarType) -> np.dtype[Any]:
    """Return NumPy's dtype; ``TypeError`` where NumPy has none."""
    if scalar_type in NOT_IN_NUMPY:
        raise TypeError(f"NumPy has no dtype for {scalar_type}")
    return np.dtype(scalar_type.short)


def can_cast(from_: ScalarType | type, to: ScalarType | type) -> bool:
    """Return whether a result of type ``from_`` may be stored in a tensor of type ``to`` (source: ``torch.can_cast``)."""
    return promotion.can_cast(as_dtype(from_), as_dtype(to))


def promote_types(type1: ScalarType | type, type2: ScalarType | type) -> ScalarType:
    """Return the smallest dtype that holds the values of both (source: ``torch.promote_types``)."""
    return promotion.promote_types(as_dtype(type1), as_dtype(type2))


def _to_operand(value: Any) -> Operand | bool | int | float | complex:
    if isinstance(value, (bool, int, float, complex)):
        return value
    return (Operand.with_dims if dc.shape(value) else Operand.zero_dim)(dc.dtype(value))


#: torch's names for the operands, of which each overload has two.
_OPERANDS: Final = (("tensor", "other"), ("scalar", "tensor"), ("scalar1", "scalar2"))


def result_type(*operands: Any, **named: Any) -> ScalarType:
    """Return the dtype of an operator on two tensors or numbers (source: ``torch.result_type``).

    By name they are ``tensor`` and ``other``, ``scalar`` and ``tensor``, or ``scalar1`` and ``scalar2``.
    """
    if named:
        names = next((each for each in _OPERANDS if {*each[len(operands) :]} == named.keys()), None)
        if names is None:
            raise TypeError(f"result_type() takes two operands, not {len(operands)} and {', '.join(named)}")
        operands += tuple(named[name] for name in names[len(operands) :])
    if len(operands) != 2:
        raise TypeError(f"result_type() takes 2 positional arguments but {len(operands)} were given")
    one, other = operands
    return promotion.result_type(_to_operand(one), _to_operand(other))


class _TypeInfo:
    """The limits of a dtype."""

    _fields: tuple[str, ...]

    def __init__(self, type: ScalarType | builtins.type | None = None) -> None:
        self.type = get_default_dtype() if type is None else as_dtype(type)
        self.bits = self.type.itemsize * 8
        self.dtype = self.type.short

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _TypeInfo) and self.type == other.type

    def __hash__(self) -> int:
        return hash(self.type)

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={_format_number(getattr(self, name))}" for name in self._fields)
        return f"{type(self).__name__}({fields}, dtype={self.dtype})"


def _format_number(value: float) -> str:
    return f"{value:g}"


#: Dtypes that NumPy lacks: eps, largest, smallest normal, resolution.
_LIMITS: Final = {
    ScalarType.BFloat16: (2.0**-7, (2.0 - 2.0**-7) * 2.0**127, 2.0**-126, 0.01),
    ScalarType.Float8_e4m3fn: (2.0**-3, 448.0, 2.0**-6, 1.0),
    ScalarType.Float8_e4m3fnuz: (2.0**-3, 240.0, 2.0**-7, 1.0),
    ScalarType.Float8_e5m2: (2.0**-2, 57344.0, 2.0**-14, 1.0),
    ScalarType.Float8_e5m2fnuz: (2.0**-3, 57344.0, 2.0**-15, 1.0),
}


class finfo(_TypeInfo):  # noqa: N801  # torch's name
    """The limits of a floating-point dtype (source: ``torch.finfo``); ``TypeError`` for others.

    >>> import torchlike
    >>> finfo(torchlike.float32).eps
    1.1920928955078125e-07
    """

    __module__ = "torchlike"  # see Note [Public paths]
    _fields = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")

    def __init__(self, type: ScalarType | builtins.type | None = None) -> None:
        super().__init__(type)
        if not self.type.is_differentiable:
            raise TypeError(
                f"{spell()}.finfo() requires a floating point input type. Use {spell()}.iinfo to handle '{self.type}'"
            )
        real = self.type.to_real()
        if real in _LIMITS:
            self.eps, self.max, self.smallest_normal, self.resolution = _LIMITS[real]
        else:
            known = np.finfo(to_numpy_dtype(real))
            self.eps, self.max = float(known.eps), float(known.max)
            self.smallest_normal, self.resolution = float(known.smallest_normal), 10.0**-known.precision
        self.tiny, self.min = self.smallest_normal, -self.max


class iinfo(_TypeInfo):  # noqa: N801  # torch's name
    """The limits of an integer dtype (source: ``torch.iinfo``); ``TypeError`` for others.

    >>> import torchlike
    >>> iinfo(torchlike.int8)
    iinfo(min=-128, max=127, dtype=int8)
    """

    __module__ = "torchlike"  # see Note [Public paths]
    _fields = ("min", "max")

    def __init__(self, type: ScalarType | builtins.type | None = None) -> None:
        if type is None:
            raise TypeError("iinfo() missing 1 required positional argument: 'type'")
        super().__init__(type)
        if self.type.is_differentiable:
            raise TypeError(
                f"{spell()}.iinfo() requires an integer input type. Use {spell()}.finfo to handle '{self.type}'"
            )
        if self.type == ScalarType.Bool:
            raise TypeError(f"{spell()}.bool is not supported by {spell()}.iinfo")
        self.min, self.max = self.type.bounds
