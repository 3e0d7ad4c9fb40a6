"""Torch's scalar types, with torch's numbers, names and properties."""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple

from .errors import ArgumentTypeError, DtypeError

__all__ = [
    "BY_NAME",
    "ScalarType",
    "bfloat16",
    "bool_",
    "complex64",
    "complex128",
    "float16",
    "float32",
    "float64",
    "get_default_dtype",
    "int8",
    "int16",
    "int32",
    "int64",
    "set_default_dtype",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]


class _Facts(NamedTuple):
    """What is known of one scalar type: its Python name, bytes per element and kind (as in NumPy's ``dtype.kind``)."""

    short: str
    itemsize: int
    kind: str


class ScalarType(IntEnum):
    """The element type of a tensor (source: ``c10::ScalarType``).

    The numbers are torch's own, so they may stand in schemas (``ScalarType? dtype=4``) and in saved files.

    >>> ScalarType.Float
    float32
    >>> ScalarType.Float.itemsize, ScalarType.Float.is_floating_point
    (4, True)
    >>> ScalarType(4)
    int64
    """

    Byte = 0
    Char = 1
    Short = 2
    Int = 3
    Long = 4
    Half = 5
    Float = 6
    Double = 7
    ComplexHalf = 8
    ComplexFloat = 9
    ComplexDouble = 10
    Bool = 11
    BFloat16 = 15
    UInt16 = 27
    UInt32 = 28
    UInt64 = 29

    @property
    def short(self) -> str:
        """The Python name without a module: ``"float32"``."""
        return _FACTS[self].short

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return _FACTS[self].itemsize

    @property
    def is_floating_point(self) -> bool:
        """Whether the type is a real floating-point type."""
        return _FACTS[self].kind == "f"

    @property
    def is_complex(self) -> bool:
        """Whether the type is a complex type."""
        return _FACTS[self].kind == "c"

    @property
    def is_integral(self) -> bool:
        """Whether the type is an integer type; ``bool`` is not one."""
        return _FACTS[self].kind in "iu"

    @property
    def is_signed(self) -> bool:
        """Whether the type has negative values."""
        return _FACTS[self].kind in "ifc"

    @property
    def is_differentiable(self) -> bool:
        """Whether tensors of the type can require gradients."""
        return _FACTS[self].kind in "fc"

    def to_real(self) -> ScalarType:
        """Give the type of a complex number's parts; real types are their own.

        >>> ScalarType.ComplexDouble.to_real()
        float64
        """
        return _TO_REAL.get(self, self)

    def to_complex(self) -> ScalarType:
        """Give the complex type whose parts have this type.

        Raises ``DtypeError`` where there is none.

        >>> ScalarType.Float.to_complex()
        complex64
        """
        found = _TO_COMPLEX.get(self)
        if found is None:
            raise DtypeError(f"to_complex(): there is no complex type with parts of type {self.short}")
        return found

    def __str__(self) -> str:
        return _FACTS[self].short

    def __repr__(self) -> str:
        return _FACTS[self].short


_FACTS: Final = {
    ScalarType.Byte: _Facts("uint8", 1, "u"),
    ScalarType.Char: _Facts("int8", 1, "i"),
    ScalarType.Short: _Facts("int16", 2, "i"),
    ScalarType.Int: _Facts("int32", 4, "i"),
    ScalarType.Long: _Facts("int64", 8, "i"),
    ScalarType.Half: _Facts("float16", 2, "f"),
    ScalarType.Float: _Facts("float32", 4, "f"),
    ScalarType.Double: _Facts("float64", 8, "f"),
    ScalarType.ComplexHalf: _Facts("complex32", 4, "c"),
    ScalarType.ComplexFloat: _Facts("complex64", 8, "c"),
    ScalarType.ComplexDouble: _Facts("complex128", 16, "c"),
    ScalarType.Bool: _Facts("bool", 1, "b"),
    ScalarType.BFloat16: _Facts("bfloat16", 2, "f"),
    ScalarType.UInt16: _Facts("uint16", 2, "u"),
    ScalarType.UInt32: _Facts("uint32", 4, "u"),
    ScalarType.UInt64: _Facts("uint64", 8, "u"),
}

_TO_COMPLEX: Final = {
    ScalarType.Half: ScalarType.ComplexHalf,
    ScalarType.Float: ScalarType.ComplexFloat,
    ScalarType.Double: ScalarType.ComplexDouble,
    ScalarType.BFloat16: ScalarType.ComplexFloat,
    ScalarType.ComplexHalf: ScalarType.ComplexHalf,
    ScalarType.ComplexFloat: ScalarType.ComplexFloat,
    ScalarType.ComplexDouble: ScalarType.ComplexDouble,
}

_TO_REAL: Final = {
    ScalarType.ComplexHalf: ScalarType.Half,
    ScalarType.ComplexFloat: ScalarType.Float,
    ScalarType.ComplexDouble: ScalarType.Double,
}

BY_NAME: Final = {facts.short: dtype for dtype, facts in _FACTS.items()}
"""Every scalar type by its Python name."""

uint8: Final = ScalarType.Byte
int8: Final = ScalarType.Char
int16: Final = ScalarType.Short
int32: Final = ScalarType.Int
int64: Final = ScalarType.Long
float16: Final = ScalarType.Half
float32: Final = ScalarType.Float
float64: Final = ScalarType.Double
complex64: Final = ScalarType.ComplexFloat
complex128: Final = ScalarType.ComplexDouble
bool_: Final = ScalarType.Bool
bfloat16: Final = ScalarType.BFloat16
uint16: Final = ScalarType.UInt16
uint32: Final = ScalarType.UInt32
uint64: Final = ScalarType.UInt64

_default_dtype: ScalarType = float32


def get_default_dtype() -> ScalarType:
    """Give the dtype of floating-point results that nothing else decides (source: ``torch.get_default_dtype``).

    >>> get_default_dtype()
    float32
    """
    return _default_dtype


def set_default_dtype(dtype: ScalarType) -> None:
    """Choose the default floating-point dtype, for the whole process (source: ``torch.set_default_dtype``).

    Raises ``ArgumentTypeError`` for a dtype that is not floating point.
    """
    global _default_dtype  # torch's default dtype is one setting of the process as well
    if not isinstance(dtype, ScalarType) or not dtype.is_floating_point:
        raise ArgumentTypeError(
            f"only floating-point types are supported as the default type, got {dtype}", operator="set_default_dtype"
        )
    _default_dtype = dtype
