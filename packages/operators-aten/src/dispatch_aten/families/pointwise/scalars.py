"""Overloads with a number in place of a tensor: the number becomes a tensor without dimensions.

Its dtype is the result's, so that torch's promotion of "wrapped numbers" is settled before the tensor overload runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import dispatch_core as dc
from dispatch_aten.decompositions._layout import lay_out
from dispatch_aten.decompositions._shared import (
    Array,
    as_scalar_tensor,
    aten,
    cast,
    common_dtype,
    meta_of,
    overload,
)
from dispatch_aten.dtypes import int64
from dispatch_aten.promotion import Number
from dispatch_aten.shapes import RULES

if TYPE_CHECKING:
    from collections.abc import Callable


def number_last(tensor_overload: str) -> Callable[..., Array]:
    """Make the kernel of ``op(Tensor self, Scalar other, ...)``."""

    def kernel(self: Array, other: Number, *rest: Any, **options: Any) -> Array:
        value = as_scalar_tensor(other, self, common_dtype(self, other))
        if rest:
            options["alpha"] = rest[0]
        return overload(tensor_overload)(self, value, **options)

    return kernel


def number_first(tensor_overload: str) -> Callable[..., Array]:
    """Make the kernel of ``op(Scalar self, Tensor other, ...)``."""

    def kernel(self: Number, other: Array, **options: Any) -> Array:
        value = as_scalar_tensor(self, other, common_dtype(self, other))
        return overload(tensor_overload)(value, other, **options)

    return kernel


def _comparison(name: str) -> Callable[..., Array]:
    """Make the kernel of a comparison with a number, which may lie beyond the range of the tensor's integers."""

    def kernel(self: Array, other: Number) -> Array:
        dtype = common_dtype(self, other)
        if isinstance(other, int) and dtype.is_integral and dtype != int64:
            low, high = dtype.bounds
            if not low <= other <= high:
                self, dtype = cast(self, int64), int64
        return overload(f"{name}.Tensor")(self, as_scalar_tensor(other, self, dtype))

    return kernel


def _rsub_scalar(self: Array, other: Number, alpha: Number = 1) -> Array:
    return aten.sub.Tensor(as_scalar_tensor(other, self, common_dtype(self, other)), self, alpha=alpha)


def _rsub_tensor(self: Array, other: Array, *, alpha: Number = 1) -> Array:
    return aten.sub.Tensor(other, self, alpha=alpha)


def _pow_scalar(self: Array, exponent: Number) -> Array:
    if exponent in (0, 1):
        dtype = common_dtype(self, exponent)
        return (
            aten.full_like.default(self, 1, dtype=dtype) if exponent == 0 else aten._to_copy.default(self, dtype=dtype)
        )
    if exponent == 2:
        whole = cast(self, common_dtype(self, exponent))
        return aten.mul.Tensor(whole, whole)
    return aten.pow.Tensor_Tensor(self, as_scalar_tensor(exponent, self, common_dtype(self, exponent)))


def _pow_of_number(self: Number, exponent: Array) -> Array:
    expected = RULES["pow.Scalar"](self, meta_of(exponent))
    return lay_out(number_first("pow.Tensor_Tensor")(self, exponent), expected)


def _where_both(condition: Array, self: Number, other: Number) -> Array:
    dtype = common_dtype(self, other)
    return aten.where.self(
        condition, as_scalar_tensor(self, condition, dtype), as_scalar_tensor(other, condition, dtype)
    )


def _masked_fill_scalar(self: Array, mask: Array, value: Number) -> Array:
    return aten.masked_fill.Tensor(self, mask, aten.new_full.default(self, (), value))


def _scatter_value(self: Array, dim: int, index: Array, value: Number) -> Array:
    return aten.scatter.src(self, dim, index, aten.new_full.default(self, dc.shape(index), value))


def _clamp(self: Array, min: Number | None = None, max: Number | None = None) -> Array:
    dtype = common_dtype(self, *(bound for bound in (min, max) if bound is not None))
    result = cast(self, dtype)
    # Of two equal operands the second is taken: the element, whose zero may have the other sign than the bound's.
    if min is not None:
        result = aten.maximum.default(as_scalar_tensor(min, self, dtype), result)
    if max is not None:
        result = aten.minimum.default(as_scalar_tensor(max, self, dtype), result)
    return result


_ARITHMETIC: Final = "add sub mul div remainder fmod bitwise_and bitwise_or bitwise_xor".split()


def _by_tensor() -> dict[str, tuple[str, Callable[..., Any]]]:
    found: dict[str, tuple[str, Callable[..., Any]]] = {}
    for name in (*_ARITHMETIC, *(f"{name}_" for name in _ARITHMETIC), "floor_divide_"):
        found[f"{name}.Scalar"] = f"{name}.Tensor", number_last(f"{name}.Tensor")
    for name in ("remainder", "bitwise_and", "bitwise_or", "bitwise_xor"):
        found[f"{name}.Scalar_Tensor"] = f"{name}.Tensor", number_first(f"{name}.Tensor")
    for name in ("bitwise_left_shift", "bitwise_right_shift"):
        found[f"{name}.Tensor_Scalar"] = f"{name}.Tensor", number_last(f"{name}.Tensor")
        found[f"{name}.Scalar_Tensor"] = f"{name}.Tensor", number_first(f"{name}.Tensor")
    for name in ("div", "div_"):
        found[f"{name}.Scalar_mode"] = f"{name}.Tensor_mode", number_last(f"{name}.Tensor_mode")
    found["floor_divide.Scalar"] = "floor_divide", number_last("floor_divide")
    found["rsub.Scalar"], found["rsub.Tensor"] = ("sub.Tensor", _rsub_scalar), ("sub.Tensor", _rsub_tensor)
    return found


BY_TENSOR: Final = _by_tensor()
"""Overloads that torch computes by another one, with the number as a tensor: that one, and the function that calls it.

A backend's own kernel for them is a shortcut, which gives way to a program's kernel for the overload with tensors.
Comparisons and ``pow`` are not among them: in torch, too, they have kernels of their own.
"""

NUMBERS_AS_TENSORS: Final = frozenset(
    {f"{name}{suffix}.Scalar" for name in ("add", "sub", "mul", "div") for suffix in ("", "_")}
    | {"div.Scalar_mode", "div_.Scalar_mode", "floor_divide.Scalar", "floor_divide_.Scalar"}
)
"""Overloads that torch's Python never calls: it makes a tensor of the number first, so that layers see the other one."""
