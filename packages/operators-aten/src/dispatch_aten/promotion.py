"""Type promotion: which dtype an operator computes in and which it returns.

Torch ranks operands in three categories (source: ``at::native::result_type``): tensors with dimensions, tensors without,
and Python numbers ("wrapped numbers"). A lower category decides only when its *kind* is higher: an ``int64`` tensor plus
``2.5`` is the default float type, a ``float16`` tensor plus a ``float64`` tensor without dimensions is ``float16``.

>>> from dispatch_aten.dtypes import float16, float64, int64
>>> promote_types(float16, int64)
torchlike.float16
>>> result_type(Operand.with_dims(int64), 2.5)
torchlike.float32
>>> result_type(Operand.with_dims(float16), Operand.zero_dim(float64))
torchlike.float16
"""

from __future__ import annotations

from enum import IntEnum
from functools import cache
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from dispatch_core import declare_promotion

from .dtypes import FLOAT8, QUANTIZED, ScalarType, bfloat16, bool_, float32, get_default_dtype, int64, uint8
from .errors import ArgumentTypeError, DtypeError
from .families import fact_of

__all__ = [
    "Category",
    "Operand",
    "Promotion",
    "can_cast",
    "computation_type",
    "operand",
    "promote_types",
    "result_of",
    "result_type",
    "rule_for",
    "scalar_dtype",
]

Number: TypeAlias = bool | int | float | complex


class _TensorLike(Protocol):
    """The attributes that promotion reads of a tensor, array description or ``TensorMeta``."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> ScalarType: ...


class Category(IntEnum):
    """An operand's rank in promotion; the higher one decides."""

    WRAPPED = 0
    ZERO_DIM = 1
    DIMENSIONED = 2


class Operand(NamedTuple):
    """A dtype and the category in which it takes part in promotion."""

    dtype: ScalarType
    category: Category

    @classmethod
    def with_dims(cls, dtype: ScalarType) -> Operand:
        """Describe a tensor with at least one dimension."""
        return cls(dtype, Category.DIMENSIONED)

    @classmethod
    def zero_dim(cls, dtype: ScalarType) -> Operand:
        """Describe a tensor without dimensions."""
        return cls(dtype, Category.ZERO_DIM)


def operand(value: Operand | _TensorLike | Number) -> Operand:
    """Classify a tensor (anything with ``shape`` and ``dtype``) or a Python number for promotion."""
    if isinstance(value, Operand):
        return value
    if isinstance(value, (bool, int, float, complex)):
        return Operand(scalar_dtype(value), Category.WRAPPED)
    if (dtype := getattr(value, "dtype", None)) is None:
        raise ArgumentTypeError(f"expected a tensor or a number, but got {type(value).__name__}")
    return Operand(dtype, Category.DIMENSIONED if value.shape else Category.ZERO_DIM)


def scalar_dtype(value: object) -> ScalarType:
    """Return the dtype that a tensor made from the Python number ``value`` has (source: ``torch.tensor``).

    >>> scalar_dtype(True), scalar_dtype(3), scalar_dtype(2.5), scalar_dtype(1j)
    (torchlike.bool, torchlike.int64, torchlike.float32, torchlike.complex64)
    """
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return int64
    if isinstance(value, float):
        return get_default_dtype()
    if isinstance(value, complex):
        return get_default_dtype().to_complex()
    raise ArgumentTypeError(f"expected a number, but got {type(value).__name__}")


_BAREBONES_UNSIGNED: Final = frozenset({ScalarType.UInt16, ScalarType.UInt32, ScalarType.UInt64})
_INTEGERS: Final = (ScalarType.Char, ScalarType.Short, ScalarType.Int, ScalarType.Long)
_FLOATS: Final = (ScalarType.Half, ScalarType.Float, ScalarType.Double)


@cache
def promote_types(a: ScalarType, b: ScalarType) -> ScalarType:
    """Return the smallest type that holds both, by torch's table (source: ``torch.promote_types``).

    Raises ``DtypeError`` for ``uint16``, ``uint32`` and ``uint64`` with another integer, ``bool`` or complex type, and for
    8-bit floats with any other type.
    """
    if a == b:
        return a
    if a in QUANTIZED or b in QUANTIZED:
        raise DtypeError(
            "promoteTypes with quantized numbers is not handled yet; figure out what the correct rules should be, offending"
            f" types: {a.name} {b.name}",
            hint="dequantize() gives floating-point numbers",
        )
    if a in FLOAT8 or b in FLOAT8:
        raise DtypeError(f"Promotion for Float8 Types is not supported, attempted to promote {a.name} and {b.name}")
    if a in _BAREBONES_UNSIGNED or b in _BAREBONES_UNSIGNED:
        if a.is_floating_point:
            return a
        if b.is_floating_point:
            return b
        raise DtypeError(
            f"Promotion for uint16, uint32, uint64 types is not supported, attempted to promote {a.name} and {b.name}"
        )
    if a.is_complex or b.is_complex:
        real = _promote_floats(a.to_real(), b.to_real())
        return real.to_complex()
    if a.is_floating_point or b.is_floating_point:
        return _promote_floats(a, b)
    return _promote_integers(a, b)


def _promote_floats(a: ScalarType, b: ScalarType) -> ScalarType:
    """Promote where at least one type is floating point; the other may be an integer type, which then does not count."""
    if not a.is_floating_point:
        return b
    if not b.is_floating_point:
        return a
    if bfloat16 in (a, b):
        other = b if a == bfloat16 else a
        return max(other, float32, key=_FLOATS.index)
    return max(a, b, key=_FLOATS.index)


def _promote_integers(a: ScalarType, b: ScalarType) -> ScalarType:
    if a == bool_:
        return b
    if b == bool_:
        return a
    if uint8 in (a, b):
        signed = b if a == uint8 else a
        return max(signed, ScalarType.Short, key=_INTEGERS.index)
    return max(a, b, key=_INTEGERS.index)


def can_cast(from_: ScalarType, to: ScalarType) -> bool:
    """Return whether a result of type ``from_`` may be stored in a tensor of type ``to`` (source: ``torch.can_cast``).

    The kind may not be lost: complex → real, float → integer, anything → bool. Precision may.

    >>> from dispatch_aten.dtypes import float16, float32, float64, int64
    >>> can_cast(float64, float16), can_cast(float32, int64)
    (True, False)
    """
    if from_.is_complex and not to.is_complex:
        return False
    if from_.is_floating_point and (to.is_integral or to == bool_):
        return False
    return from_ == bool_ or to != bool_


def _combine(higher: ScalarType | None, lower: ScalarType | None) -> ScalarType | None:
    """Combine the types of two categories; the lower one counts only where its kind is higher."""
    if higher is None or lower is None:
        return lower if higher is None else higher
    if higher.is_complex:
        return higher
    if higher.is_floating_point:
        return higher.to_complex() if lower.is_complex else higher
    if higher == bool_ or lower.is_floating_point or lower.is_complex:
        return promote_types(higher, lower)
    return higher


def result_type(*operands: Operand | _TensorLike | Number) -> ScalarType:
    """Return the dtype in which an element-wise operator computes on ``operands`` (source: ``torch.result_type``)."""
    by_category: list[ScalarType | None] = [None, None, None]
    for value in operands:
        dtype, category = operand(value)
        known = by_category[category]
        by_category[category] = dtype if known is None else promote_types(known, dtype)
    wrapped, zero_dim, dimensioned = by_category
    # A wrapped number's own precision never counts: a float takes the default dtype (see scalar_dtype), and so does
    # a 0-d tensor that a frontend marks as representing a number.
    if wrapped is not None and wrapped.is_floating_point:
        wrapped = get_default_dtype()
    elif wrapped is not None and wrapped.is_complex:
        wrapped = get_default_dtype().to_complex()
    found = _combine(dimensioned, _combine(zero_dim, wrapped))
    if found is None:
        raise ArgumentTypeError("result_type(): at least one operand is needed")
    return found


class Promotion(IntEnum):
    """How an operator gets from its operands' common dtype to the dtype it computes in and the one it returns."""

    SAME = 0
    """Computes and returns the common dtype: ``add``, ``mul``, ``maximum``."""
    INT_TO_FLOAT = 1
    """Integers and ``bool`` are computed and returned in the default float type: ``exp``, ``div``, ``sigmoid``."""
    TO_BOOL = 2
    """Computes in the common dtype, returns ``bool``: ``eq``, ``logical_and``, ``isnan``."""
    INT_TO_LONG = 3
    """Integers and ``bool`` are accumulated in ``int64``: ``sum``, ``prod``, ``cumsum``."""
    BOOL_TO_LONG = 4
    """``bool`` is computed as ``int64``: ``pow``."""
    COMPLEX_TO_REAL = 5
    """Complex inputs have results of their real type: ``abs``, ``norm``."""
    ALWAYS_LONG = 6
    """Returns ``int64`` for every input: ``argmax``, ``count_nonzero``."""


def computation_type(rule: Promotion, common: ScalarType) -> ScalarType:
    """Return the dtype that an operator under ``rule`` computes in.

    >>> from dispatch_aten.dtypes import bool_, int64
    >>> computation_type(Promotion.INT_TO_FLOAT, int64), computation_type(Promotion.INT_TO_LONG, bool_)
    (torchlike.float32, torchlike.int64)
    """
    if rule is Promotion.INT_TO_FLOAT and not common.is_differentiable:
        return get_default_dtype()
    if rule is Promotion.INT_TO_LONG and not common.is_differentiable:
        return int64
    if rule is Promotion.BOOL_TO_LONG and common == bool_:
        return int64
    return common


def result_of(rule: Promotion, common: ScalarType) -> ScalarType:
    """Return the dtype that an operator under ``rule`` returns, from its operands' common dtype.

    >>> from dispatch_aten.dtypes import complex64, int64
    >>> result_of(Promotion.TO_BOOL, int64), result_of(Promotion.COMPLEX_TO_REAL, complex64)
    (torchlike.bool, torchlike.float32)
    """
    if rule is Promotion.TO_BOOL:
        return bool_
    if rule is Promotion.ALWAYS_LONG:
        return int64
    if rule is Promotion.COMPLEX_TO_REAL:
        return common.to_real()
    return computation_type(rule, common)


@cache
def rule_for(operator: str) -> Promotion:
    """Return the promotion rule of an operator, by any of its spellings; unknown ones compute in their common dtype.

    It is the fact ``promotion`` of the operator's family.

    >>> rule_for("aten::sum.dim_IntList").name, rule_for("div_.Tensor").name
    ('INT_TO_LONG', 'INT_TO_FLOAT')
    """
    facts = fact_of(operator.rpartition("::")[2], "promotion")
    return Promotion[facts[0].upper()] if facts else Promotion.SAME


def _promote(*operands: Any) -> ScalarType:
    """Return the dtype of numbers, and of pairs of a dtype and a number of dimensions, computed together."""
    given = [
        (Operand.with_dims if each[1] else Operand.zero_dim)(each[0]) if isinstance(each, tuple) else each
        for each in operands
    ]
    return result_type(*given)


declare_promotion(_promote)
