"""Nodes of element-wise operators: arithmetic, comparisons, activations, casts."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from dispatch_aten.promotion import result_type
from dispatch_core.planning import Value

from ..values.dtypes import finfo
from .emitters import EMITTERS, emits
from .sizes import DynamicSize
from .writer import Writer, type_of

#: Operators of one tensor that are one node without attributes.
_UNARY: Final = """
abs Abs; acos Acos; acosh Acosh; asin Asin; asinh Asinh; atan Atan; atanh Atanh; ceil Ceil; cos Cos; cosh Cosh; erf Erf;
exp Exp; floor Floor; log Log; neg Neg; reciprocal Reciprocal; relu Relu; round Round; sigmoid Sigmoid; sign Sign; sin Sin;
sinh Sinh; sqrt Sqrt; tan Tan; tanh Tanh; isnan IsNaN; isinf IsInf; hardswish HardSwish; mish Mish; softsign Softsign
"""
#: Operators of two operands, in the dtype of the result.
_ARITHMETIC: Final = """
mul.Tensor Mul; mul.Scalar Mul; div.Tensor Div; div.Scalar Div; maximum Max; minimum Min; pow.Tensor_Tensor Pow;
pow.Tensor_Scalar Pow; pow.Scalar Pow
"""
#: Operators of two operands, in the dtype that these have together.
_COMPARISONS: Final = "eq Equal; lt Less; le LessOrEqual; gt Greater; ge GreaterOrEqual"
#: Operators of two operands of bool, and of integers.
_LOGIC: Final = "bitwise_and And BitwiseAnd; bitwise_or Or BitwiseOr; bitwise_xor Xor BitwiseXor"


def _dtype(w: Writer) -> Any:
    """Return the dtype of the call's first result."""
    assert w.results[0] is not None
    return w.results[0].dtype


def _pairs(text: str) -> list[list[str]]:
    return [each.split() for each in text.split(";")]


def _unary(kind: str, w: Writer, self: Value) -> str:
    dtype = self.dtype if kind.startswith("Is") else _dtype(w)
    return str(w.node(kind, w.cast(self, dtype)))


def _arithmetic(kind: str, w: Writer, self: Any, other: Any) -> str:
    return str(w.node(kind, w.operand(self, _dtype(w)), w.operand(other, _dtype(w))))


def _compare(kind: str, w: Writer, self: Value, other: Any) -> str:
    dtype = result_type(self, 1 if isinstance(other, DynamicSize) else other)
    return str(w.node(kind, w.operand(self, dtype), w.operand(other, dtype)))


def _logic(on_bools: str, on_integers: str, w: Writer, self: Any, other: Any) -> str:
    dtype = _dtype(w)
    return _arithmetic(on_bools if str(dtype.short) == "bool" else on_integers, w, self, other)


EMITTERS.update({f"aten::{name}": partial(_unary, kind) for name, kind in _pairs(_UNARY)})
EMITTERS.update({f"aten::{name}": partial(_arithmetic, kind) for name, kind in _pairs(_ARITHMETIC)})
for _overload in ("Tensor", "Scalar"):
    EMITTERS.update({f"aten::{name}.{_overload}": partial(_compare, kind) for name, kind in _pairs(_COMPARISONS)})
    EMITTERS.update({f"aten::{n}.{_overload}": partial(_logic, bools, ints) for n, bools, ints in _pairs(_LOGIC)})


@emits("add.Tensor", "add.Scalar", "sub.Tensor", "sub.Scalar")
def _add(w: Writer, self: Any, other: Any, alpha: Any = 1, *, kind: str = "Add") -> str:
    dtype = _dtype(w)
    scaled = w.operand(other, dtype)
    if alpha != 1:
        scaled = w.node("Mul", scaled, w.constant(alpha, dtype))
    left = w.operand(self, dtype)
    return str(w.node("Or" if str(dtype.short) == "bool" else kind, left, scaled))


EMITTERS.update({f"aten::sub.{each}": partial(_add, kind="Sub") for each in ("Tensor", "Scalar")})


@emits("rsub.Scalar", "rsub.Tensor")
def _rsub(w: Writer, self: Any, other: Any, alpha: Any = 1) -> str:
    return _add(w, other, self, alpha, kind="Sub")


@emits("ne.Tensor", "ne.Scalar")
def _ne(w: Writer, self: Value, other: Any) -> str:
    return str(w.node("Not", _compare("Equal", w, self, other)))


@emits("bitwise_not", "logical_not")
def _not(w: Writer, self: Value) -> str:
    if str(self.dtype.short) == "bool":
        return str(w.node("Not", w.name(self)))
    if str(_dtype(w).short) == "bool":
        return str(w.node("Equal", w.name(self), w.constant(0, self.dtype)))
    return str(w.node("BitwiseNot", w.name(self)))


@emits("floor_divide", "floor_divide.Scalar")
def _floor_divide(w: Writer, self: Any, other: Any) -> str:
    dtype = _dtype(w)
    left, right = w.operand(self, dtype), w.operand(other, dtype)
    quotient = str(w.node("Div", left, right))
    if dtype.is_floating_point:
        return str(w.node("Floor", quotient))
    # Integers are divided towards zero: one less where there is a remainder of the other sign.
    rest = w.node("Sub", left, w.node("Mul", quotient, right))
    zero = w.constant(0, dtype)
    other_sign = w.node("Less", w.node("Mul", rest, right), zero)
    return str(w.node("Sub", quotient, w.cast_name(other_sign, dtype)))


@emits("div.Tensor_mode", "div.Scalar_mode")
def _div_mode(w: Writer, self: Any, other: Any, rounding_mode: str | None = None) -> str:
    if rounding_mode == "floor":
        return _floor_divide(w, self, other)
    quotient = _arithmetic("Div", w, self, other)
    if rounding_mode is None or not _dtype(w).is_floating_point:
        return quotient
    return str(w.node("Mul", w.node("Sign", quotient), w.node("Floor", w.node("Abs", quotient))))


@emits("remainder.Scalar", "remainder.Tensor")
def _remainder(w: Writer, self: Any, other: Any) -> str:
    dtype = _dtype(w)
    left, right = w.operand(self, dtype), w.operand(other, dtype)
    if not dtype.is_floating_point:
        return str(w.node("Mod", left, right))
    return str(w.node("Sub", left, w.node("Mul", right, w.node("Floor", w.node("Div", left, right)))))


@emits("fmod.Scalar", "fmod.Tensor")
def _fmod(w: Writer, self: Any, other: Any) -> str:
    return str(w.node("Mod", w.operand(self, _dtype(w)), w.operand(other, _dtype(w)), fmod=1))


@emits("clamp", "hardtanh", "clamp.Tensor")
def _clamp(w: Writer, self: Value, low: Any = None, high: Any = None) -> str:
    dtype, found = _dtype(w), w.cast(self, _dtype(w))
    for kind, bound in (("Max", low), ("Min", high)):
        if bound is not None:
            found = str(w.node(kind, found, w.operand(bound, dtype)))
    return found


@emits("clamp_min", "clamp_max", "clamp_min.Tensor", "clamp_max.Tensor")
def _clamp_min(w: Writer, self: Value, bound: Any) -> str:
    return _clamp(w, self, bound)


for _overload in ("", ".Tensor"):
    EMITTERS[f"aten::clamp_max{_overload}"] = lambda w, self, bound: _clamp(w, self, None, bound)


@emits("where.self", "where.ScalarSelf", "where.ScalarOther", "where.Scalar")
def _where(w: Writer, condition: Value, self: Any, other: Any) -> str:
    return str(w.node("Where", w.name(condition), w.operand(self, _dtype(w)), w.operand(other, _dtype(w))))


@emits("masked_fill.Scalar", "masked_fill.Tensor")
def _masked_fill(w: Writer, self: Value, mask: Value, value: Any) -> str:
    return str(w.node("Where", w.name(mask), w.operand(value, _dtype(w)), w.name(self)))


@emits("addcmul", "addcdiv")
def _addcmul(w: Writer, self: Value, one: Value, other: Value, value: Any = 1, *, kind: str = "Mul") -> str:
    dtype = _dtype(w)
    product = w.node(kind, w.cast(one, dtype), w.cast(other, dtype))
    return str(w.node("Add", w.cast(self, dtype), w.node("Mul", product, w.constant(value, dtype))))


EMITTERS["aten::addcdiv"] = partial(_addcmul, kind="Div")


@emits("lerp.Scalar", "lerp.Tensor")
def _lerp(w: Writer, self: Value, end: Value, weight: Any) -> str:
    step = w.node("Mul", w.operand(weight, _dtype(w)), w.node("Sub", w.name(end), w.name(self)))
    return str(w.node("Add", w.name(self), step))


def _constants(w: Writer, like: Value) -> Callable[[Any], str]:
    """Return the function that gives the name of a number in the dtype of a value."""
    return lambda number: w.constant(number, like.dtype)


#: Functions of one float: the expression in nodes, of the argument's name and a function for constants.
_Formula = Callable[[Writer, str, Callable[[Any], str]], Any]
_FORMULAS: Final[dict[str, _Formula]] = {
    "rsqrt": lambda w, x, _: w.node("Reciprocal", w.node("Sqrt", x)),
    "square": lambda w, x, _: w.node("Mul", x, x),
    "log1p": lambda w, x, c: w.node("Log", w.node("Add", x, c(1))),
    "expm1": lambda w, x, c: w.node("Sub", w.node("Exp", x), c(1)),
    "exp2": lambda w, x, c: w.node("Pow", c(2), x),
    "log2": lambda w, x, c: w.node("Div", w.node("Log", x), c(math.log(2))),
    "log10": lambda w, x, c: w.node("Div", w.node("Log", x), c(math.log(10))),
    "silu": lambda w, x, _: w.node("Mul", x, w.node("Sigmoid", x)),
    "hardsigmoid": lambda w, x, _: w.node("HardSigmoid", x, alpha=1 / 6, beta=0.5),
    "trunc": lambda w, x, _: w.node("Mul", w.node("Sign", x), w.node("Floor", w.node("Abs", x))),
}


def _formula(write: _Formula, w: Writer, self: Value) -> str:
    dtype = _dtype(w)
    return str(write(w, w.cast(self, dtype), lambda number: w.constant(number, dtype)))


EMITTERS.update({f"aten::{name}": partial(_formula, write) for name, write in _FORMULAS.items()})


@emits("gelu")
def _gelu(w: Writer, self: Value, approximate: str = "none") -> str:
    x, number = w.name(self), _constants(w, self)
    if approximate == "none":
        inner = w.node("Erf", w.node("Div", x, number(math.sqrt(2))))
    else:
        cube = w.node("Mul", w.node("Mul", x, w.node("Mul", x, x)), number(0.044715))
        inner = w.node("Tanh", w.node("Mul", w.node("Add", x, cube), number(math.sqrt(2 / math.pi))))
    return str(w.node("Mul", w.node("Mul", x, number(0.5)), w.node("Add", inner, number(1))))


@emits("leaky_relu")
def _leaky_relu(w: Writer, self: Value, negative_slope: float = 0.01) -> str:
    return str(w.node("LeakyRelu", w.name(self), alpha=float(negative_slope)))


@emits("elu", "celu")
def _elu(w: Writer, self: Value, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> str:
    x, number = w.name(self), _constants(w, self)
    negative = w.node("Sub", w.node("Exp", w.node("Mul", x, number(input_scale))), number(1))
    negative = w.node("Mul", negative, number(alpha * scale))
    positive = w.node("Mul", x, number(scale))
    return str(w.node("Where", w.node("Greater", x, number(0)), positive, negative))


EMITTERS["aten::celu"] = lambda w, self, alpha=1.0: _elu(w, self, alpha, 1, 1 / alpha)


@emits("softplus")
def _softplus(w: Writer, self: Value, beta: float = 1, threshold: float = 20) -> str:
    x, number = w.name(self), _constants(w, self)
    scaled = w.node("Mul", x, number(beta))
    soft = w.node("Div", w.node("Softplus", scaled), number(beta))
    return str(w.node("Where", w.node("Greater", scaled, number(threshold)), x, soft))


@emits("log_sigmoid_forward")
def _log_sigmoid(w: Writer, self: Value) -> list[str | None]:
    return [w.node("Neg", w.node("Softplus", w.node("Neg", w.name(self)))), None]


@emits("threshold")
def _threshold(w: Writer, self: Value, threshold: Any, value: Any) -> str:
    x = w.name(self)
    return str(
        w.node("Where", w.node("Greater", x, w.constant(threshold, self.dtype)), x, w.constant(value, self.dtype))
    )


@emits("hardshrink", "softshrink")
def _shrink(w: Writer, self: Value, lambd: float = 0.5, *, bias: bool = False) -> str:
    return str(w.node("Shrink", w.name(self), lambd=float(lambd), bias=float(lambd) if bias else 0.0))


EMITTERS["aten::softshrink"] = partial(_shrink, bias=True)


@emits("_prelu_kernel")
def _prelu(w: Writer, self: Value, weight: Value) -> str:
    return str(w.node("PRelu", w.name(self), w.name(weight)))


@emits("glu")
def _glu(w: Writer, self: Value, dim: int = -1) -> str:
    one, other = w.node("Split", w.name(self), results=2, axis=dim, num_outputs=2)
    return str(w.node("Mul", one, w.node("Sigmoid", other)))


@emits("nan_to_num")
def _nan_to_num(w: Writer, self: Value, nan: Any = None, posinf: Any = None, neginf: Any = None) -> str:
    x, largest = w.name(self), finfo(self.dtype).max
    found = w.node("Where", w.node("IsNaN", x), w.constant(nan or 0.0, self.dtype), x)
    for sign, value in ((1, largest if posinf is None else posinf), (-1, -largest if neginf is None else neginf)):
        is_that = w.node("IsInf", x, detect_negative=int(sign < 0), detect_positive=int(sign > 0))
        found = w.node("Where", is_that, w.constant(value, self.dtype), found)
    return str(found)


@emits("_to_copy")
def _to_copy(w: Writer, self: Value, *_: Any) -> str:
    return (
        w.cast(self, _dtype(w)) if type_of(self.dtype) != type_of(_dtype(w)) else str(w.node("Identity", w.name(self)))
    )
