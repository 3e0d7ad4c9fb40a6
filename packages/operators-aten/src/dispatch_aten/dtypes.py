"""Torch's scalar types, with torch's numbers, names and properties."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, Final, NoReturn, Self

from dispatch_core import declare_dtypes
from dispatch_core.schema import suggest_dtype

from .errors import ArgumentTypeError, DtypeError

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "BY_NAME",
    "FLOAT8",
    "NOT_IN_NUMPY",
    "QUANTIZED",
    "ScalarType",
    "as_dtype",
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
    "qint8",
    "qint32",
    "quint8",
    "set_default_dtype",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]


class ScalarType(Enum):
    """The element type of a tensor (source: ``c10::ScalarType``); ``torchlike.dtype`` to users.

    A member is not a number, and equals itself alone. ``str`` is for people: the short name, and torch's spelling
    where a frontend stands in for torch. Each member has

    * ``value``: torch's number, which stands in schemas (``ScalarType? dtype=4``) and in saved files;
    * ``short``: its Python name without a module, ``"float32"``, by which NumPy knows it too;
    * ``itemsize``: bytes per element;
    * ``is_floating_point``, ``is_complex``, ``is_integral`` (``bool`` is none of them), ``is_signed`` (has negative values);
    * ``is_differentiable``: whether tensors of the type can require gradients.

    >>> ScalarType.Float, str(ScalarType.Float)
    (torchlike.float32, 'float32')
    >>> ScalarType.Float.itemsize, ScalarType.Float.is_floating_point
    (4, True)
    >>> ScalarType(4)
    torchlike.int64
    """

    #: The type of the schema for a function's annotation with this class (see ``dispatch_core.infer_schema``).
    __schema_type__ = "ScalarType"

    short: str
    itemsize: int
    is_floating_point: bool
    is_complex: bool
    is_integral: bool
    is_signed: bool
    is_differentiable: bool

    # The number, the name, bytes per element, and the kind as in NumPy's dtype.kind; q is a quantized number.
    Byte = 0, "uint8", 1, "u"
    Char = 1, "int8", 1, "i"
    Short = 2, "int16", 2, "i"
    Int = 3, "int32", 4, "i"
    Long = 4, "int64", 8, "i"
    Half = 5, "float16", 2, "f"
    Float = 6, "float32", 4, "f"
    Double = 7, "float64", 8, "f"
    ComplexHalf = 8, "complex32", 4, "c"
    ComplexFloat = 9, "complex64", 8, "c"
    ComplexDouble = 10, "complex128", 16, "c"
    Bool = 11, "bool", 1, "b"
    QInt8 = 12, "qint8", 1, "q"
    QUInt8 = 13, "quint8", 1, "q"
    QInt32 = 14, "qint32", 4, "q"
    BFloat16 = 15, "bfloat16", 2, "f"
    Float8_e5m2 = 23, "float8_e5m2", 1, "f"
    Float8_e4m3fn = 24, "float8_e4m3fn", 1, "f"
    Float8_e5m2fnuz = 25, "float8_e5m2fnuz", 1, "f"
    Float8_e4m3fnuz = 26, "float8_e4m3fnuz", 1, "f"
    UInt16 = 27, "uint16", 2, "u"
    UInt32 = 28, "uint32", 4, "u"
    UInt64 = 29, "uint64", 8, "u"

    def __new__(cls, number: int, short: str, itemsize: int, kind: str) -> Self:
        """Make a member with its facts as plain attributes, because they are read in every call."""
        member = object.__new__(cls)
        member._value_ = number
        member.short = short
        member.itemsize = itemsize
        member.is_floating_point = kind == "f"
        member.is_complex = kind == "c"
        member.is_integral = kind in "iu"
        member.is_signed = kind in "ifc" or short.startswith("qint")
        member.is_differentiable = kind in "fc"
        return member

    # An enum hashes its name, in Python, which every look-up in a table of dtypes would pay for.
    __hash__ = object.__hash__

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the greatest number of an integral type, or of the integers of a quantized one.

        >>> ScalarType.Char.bounds, ScalarType.Byte.bounds
        ((-128, 127), (0, 255))
        """
        values = 1 << 8 * self.itemsize
        return (-values // 2, values // 2 - 1) if self.is_signed else (0, values - 1)

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's dtype, by which NumPy and pandas take ours for theirs; ``AttributeError`` where NumPy has none.

        >>> import numpy
        >>> numpy.zeros(2, ScalarType.Short)
        array([0, 0], dtype=int16)
        """
        import numpy as np

        if self in NOT_IN_NUMPY:
            raise AttributeError(f"NumPy has no dtype for {self!r}", name="dtype", obj=self)
        return np.dtype(self.short)

    def to_real(self) -> ScalarType:
        """Return the type of a complex number's parts; real types are their own.

        >>> ScalarType.ComplexDouble.to_real()
        torchlike.float64
        """
        return _TO_REAL.get(self, self)

    def to_complex(self) -> ScalarType:
        """Return the complex type whose parts have this type.

        Raises ``DtypeError`` where there is none.

        >>> ScalarType.Float.to_complex()
        torchlike.complex64
        """
        found = _TO_COMPLEX.get(self)
        if found is None:
            raise DtypeError(f"to_complex(): there is no complex type with parts of type {self.short}")
        return found

    def __str__(self) -> str:
        return self.short

    def __repr__(self) -> str:
        return f"torchlike.{self.short}"


def _refuse_change(self: ScalarType, name: str, value: object = None, /) -> NoReturn:
    raise AttributeError(f"attribute {name!r} of {self!r} cannot be changed", name=name, obj=self)


# Dtypes are shared by the whole process. An enum sets its members' attributes while it is made, so this comes after.
ScalarType.__setattr__ = ScalarType.__delattr__ = _refuse_change  # type: ignore[assignment,method-assign]


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

FLOAT8: Final = frozenset(dtype for dtype in ScalarType if dtype.short.startswith("float8"))
"""The 8-bit floats, which are stored and converted, but not computed with."""

QUANTIZED: Final = {
    ScalarType.QInt8: ScalarType.Char,
    ScalarType.QUInt8: ScalarType.Byte,
    ScalarType.QInt32: ScalarType.Int,
}
"""The types of quantized numbers, and those of the integers that stand for them."""

NOT_IN_NUMPY: Final = FLOAT8 | QUANTIZED.keys() | {ScalarType.BFloat16, ScalarType.ComplexHalf}
"""The types that NumPy has no dtype of its own for."""

BY_NAME: Final = {dtype.short: dtype for dtype in ScalarType}
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
qint8: Final = ScalarType.QInt8
quint8: Final = ScalarType.QUInt8
qint32: Final = ScalarType.QInt32
bfloat16: Final = ScalarType.BFloat16
uint16: Final = ScalarType.UInt16
uint32: Final = ScalarType.UInt32
uint64: Final = ScalarType.UInt64

_BY_TYPE: Final = {bool: bool_, int: int64, float: float64, complex: complex128}

# The name in errors, Python's own included: users know the class by it. Pickles go by its __qualname__.
ScalarType.__name__ = "torchlike.dtype"
declare_dtypes(ScalarType, numbers={dtype.value: dtype for dtype in ScalarType}, types=_BY_TYPE)


class DefaultDtype:
    """The default dtype, and how often one has been chosen: a cache can tell by it that the dtype has not changed meanwhile.

    One object, which generated code holds; ``set_default_dtype`` changes it.
    """

    __slots__ = ("dtype", "generation")

    def __init__(self) -> None:
        self.dtype, self.generation = float32, 0


DEFAULT_DTYPE: Final = DefaultDtype()
"""The one of the process."""


def as_dtype(value: object) -> ScalarType:
    """Return a dtype unchanged, and the dtype of a Python type.

    Raises ``ArgumentTypeError`` for anything else.

    >>> as_dtype(int32), as_dtype(float)
    (torchlike.int32, torchlike.float64)
    """
    found = value if isinstance(value, ScalarType) else _BY_TYPE.get(value) if type(value) is type else None
    if found is None:
        raise ArgumentTypeError(
            f"expected a {ScalarType.__name__}, but got {type(value).__name__}{suggest_dtype(value)}"
        )
    return found


def get_default_dtype() -> ScalarType:
    """Return the dtype of floating-point results that no argument decides (source: ``torch.get_default_dtype``).

    >>> get_default_dtype()
    torchlike.float32
    """
    return DEFAULT_DTYPE.dtype


def set_default_dtype(dtype: ScalarType) -> None:
    """Choose the default floating-point dtype, for the whole process (source: ``torch.set_default_dtype``).

    Raises ``ArgumentTypeError`` for a dtype that is not floating point.
    """
    if not isinstance(dtype, ScalarType) or not dtype.is_floating_point:
        # Another object's own text may be anything.
        got = dtype if isinstance(dtype, ScalarType) else type(dtype).__name__
        raise ArgumentTypeError(
            f"only floating-point types are supported as the default type, got {got}", operator="set_default_dtype"
        )
    # In this order: a cache reads the dtype first, so that it never takes one dtype's answer for that of another.
    DEFAULT_DTYPE.generation += 1
    DEFAULT_DTYPE.dtype = dtype
