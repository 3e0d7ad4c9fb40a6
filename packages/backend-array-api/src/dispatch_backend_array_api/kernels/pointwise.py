"""Element-wise operators: the arguments are converted as the operator's shape rule says, then the library computes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType
from dispatch_aten.shapes import RULES, contiguous

from ..library import Array, ArrayLibrary, Kernel, is_number, number, sample

#: Operator → function of one array.
UNARY: Final = {
    "neg": "negative",
    "reciprocal": "reciprocal",
    "bitwise_not": "bitwise_invert",
    **{
        name: name
        for name in "abs acos acosh asin asinh atan atanh ceil cos cosh exp expm1 floor log log10 log1p log2 round sin"
        " sinh sqrt tan tanh trunc".split()
    },
}
#: Operator without overload → function of two arrays; with the overloads Tensor and Scalar.
BINARY: Final = {
    "mul": "multiply",
    "div": "divide",
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "bitwise_and": "bitwise_and",
    "bitwise_or": "bitwise_or",
    "bitwise_xor": "bitwise_xor",
    "remainder": "remainder",
}
#: Operator with overload → function of two arrays.
PLAIN: Final = {
    "pow.Tensor_Tensor": "pow",
    "pow.Tensor_Scalar": "pow",
    "atan2": "atan2",
    "maximum": "maximum",
    "minimum": "minimum",
    "floor_divide": "floor_divide",
    "hypot": "hypot",
    "copysign.Tensor": "copysign",
    "nextafter": "nextafter",
}
_BOOL: Final = ScalarType.Bool
#: The arguments that may follow a number that goes to the library as it is: nothing, or the factor 1.
_ALONE: Final = ((), (1,))


def _computed_in(result: ScalarType, operands: Sequence[Any]) -> ScalarType:
    """Return the dtype to compute in: that of the result, unless it says less than the operands' common one."""
    common = dc.promote(*operands)
    return common if result is _BOOL or (common.is_complex and not result.is_complex) else result


class _Casts(dict[Any, Any]):
    """The dtypes and ranks of an operator's arguments → the dtype to compute in, None for the one they have."""

    def __init__(self, library: ArrayLibrary, name: str) -> None:
        self._library, self._rule = library, RULES[name]

    def __missing__(self, key: tuple[Any, ...]) -> Any:
        operands: list[Any] = []
        known = self._library.scalar_types
        for dtype, flat in zip(key[::2], key[1::2], strict=True):
            operands.append(flat if dtype is None else contiguous(() if flat else (1,), known[dtype]))
        compute = _computed_in(self._rule(*operands).dtype, operands)
        wanted = {dtype for dtype in key[::2] if dtype is not None} == {self._library.dtypes[compute]}
        same = all(known[dtype] is compute for dtype in key[::2] if dtype is not None)
        self[key] = found = None if same or wanted else compute
        return found


def unary(library: ArrayLibrary, name: str, function: Callable[..., Any]) -> Kernel:
    """Return the kernel of a function of one array."""
    casts, cast = _Casts(library, name), library.cast

    def kernel(self: Array) -> Array:
        wanted = casts[self.dtype, not self.ndim]
        return function(self if wanted is None else cast(self, wanted))

    return kernel


def binary(library: ArrayLibrary, name: str, function: Callable[..., Any]) -> Kernel:
    """Return the kernel of a function of two arrays."""
    casts, cast = _Casts(library, name), library.cast

    def kernel(self: Array, other: Array) -> Array:
        wanted = casts[self.dtype, not self.ndim, other.dtype, not other.ndim]
        return function(self, other) if wanted is None else function(cast(self, wanted), cast(other, wanted))

    return kernel


def _with_number(library: ArrayLibrary, name: str, function: Callable[..., Any]) -> Kernel:
    rule = RULES[name]
    seen: dict[Any, tuple[ScalarType, bool]] = {}

    def kernel(self: Array, other: Any, *rest: Any) -> Array:
        alike = sample(other)
        key = self.dtype, not self.ndim, type(alike)
        found = None if any(each is True or each is False for each in rest) else seen.get(key)
        if found is None:
            operand = contiguous(
                (1,) * self.ndim, library.dtype_of(self)
            )  # sizes do not matter, nor need they be known
            compute = _computed_in(rule(operand, alike, *rest).dtype, (operand, alike))
            found = seen[key] = compute, compute is not operand.dtype
        compute, differs = found
        if differs:
            self = library.cast(self, compute)
        if is_number(other) and rest in _ALONE:
            return function(self, number(other, compute))
        return function(self, library.full((), other, compute), *rest)

    return kernel


def _sum_of(sign: str) -> Callable[[ArrayLibrary], Callable[..., Any]]:
    def make_function(library: ArrayLibrary) -> Callable[..., Any]:
        combine, scale = getattr(library.xp, sign), library.xp.multiply

        def function(self: Array, other: Array, alpha: Any = 1) -> Array:
            if not is_number(alpha) or alpha != 1:
                dtype = library.dtype_of(other)
                if dtype is _BOOL:
                    return combine(self, other) if number(alpha, dtype) else self
                other = scale(other, library.full((), alpha, dtype))
            return combine(self, other)

        return function

    return make_function


def _sum_kernel(library: ArrayLibrary, name: str, function: Callable[..., Any]) -> Kernel:
    casts, cast, rule, meta = _Casts(library, name), library.cast, RULES[name], library.meta

    def kernel(self: Array, other: Array, *, alpha: Any = 1) -> Array:
        if alpha is True or alpha is False:
            rule(meta(self), meta(other), alpha=alpha)  # it refuses them for most dtypes
        wanted = casts[self.dtype, not self.ndim, other.dtype, not other.ndim]
        if wanted is not None:
            self, other = cast(self, wanted), cast(other, wanted)
        if not is_number(alpha) or alpha != 1:
            return function(self, other, alpha)
        return function(self, other)

    return kernel


def _for_bool(library: ArrayLibrary, function: Callable[..., Any], logical: str) -> Callable[..., Any]:
    instead, bool_ = getattr(library.xp, logical), library.xp.empty((0,), dtype=library.dtype(_BOOL)).dtype

    def choose(self: Array, other: Array, *rest: Any) -> Array:
        return instead(self, other) if self.dtype == bool_ else function(self, other, *rest)

    return choose


def _in_bytes(library: ArrayLibrary, function: Callable[..., Any], *, gives_bool: bool) -> Callable[..., Any]:
    """Return a function that takes bools as bytes, because the standard knows no order of bools."""
    cast, byte = library.cast, ScalarType.Byte

    def compute(*arrays: Array) -> Array:
        if library.dtype_of(arrays[0]) is not _BOOL:
            return function(*arrays)
        found = function(*(cast(array, byte) for array in arrays))
        return found if gives_bool else cast(found, _BOOL)

    return compute


def _sign(library: ArrayLibrary) -> Callable[..., Any]:
    """Return the sign, which is 0 for nan and for zeros of both signs as in torch."""
    sign, where, size = library.xp.sign, library.xp.where, library.xp.abs

    def function(self: Array) -> Array:
        found = sign(self)
        if not library.dtype_of(self).is_floating_point:
            return found
        return where(size(found) > 0, found, library.full((), 0, library.dtype_of(self)))

    return _in_bytes(library, function, gives_bool=False)


def _signbit(library: ArrayLibrary) -> Callable[..., Any]:
    function = library.xp.signbit

    def compute(self: Array) -> Array:
        return function(self) if library.dtype_of(self).is_floating_point else self < 0

    return _in_bytes(library, compute, gives_bool=True)


def _where(library: ArrayLibrary) -> Kernel:
    casts: dict[Any, ScalarType] = {}
    cast, where, rule = library.cast, library.xp.where, RULES["where.self"]

    def kernel(condition: Array, self: Array, other: Array) -> Array:
        if self.dtype != other.dtype:
            key = self.dtype, not self.ndim, other.dtype, not other.ndim
            wanted = casts.get(key)
            if wanted is None:
                wanted = casts[key] = rule(*map(library.meta, (condition, self, other))).dtype
            self, other = cast(self, wanted), cast(other, wanted)
        return where(cast(condition, _BOOL), self, other)

    return kernel


def _relu(library: ArrayLibrary) -> Kernel:
    maximum, rule = library.xp.maximum, RULES["relu"]

    def relu(self: Array) -> Array:
        dtype = library.dtype_of(self)
        if dtype is _BOOL:
            rule(library.meta(self))  # it refuses them
        return maximum(self, number(0, dtype))

    return relu


def _fmod(library: ArrayLibrary) -> Callable[..., Any]:
    xp = library.xp

    def fmod(self: Array, other: Array) -> Array:
        if library.dtype_of(self).is_floating_point:
            return xp.copysign(xp.remainder(xp.abs(self), xp.abs(other)), self)
        # The smallest integer has no absolute value.
        rest = xp.remainder(self, other)
        return xp.where((rest != 0) & ((self < 0) != (other < 0)), rest - other, rest)

    return fmod


def _power(library: ArrayLibrary) -> Callable[..., Any]:
    """Return the power, which the standard leaves open for integers to negative ones: 0 but for 1 and -1, as in torch."""
    power, where = library.xp.pow, library.xp.where

    def compute(self: Array, other: Array) -> Array:
        dtype = library.dtype_of(self)
        if not (dtype.is_integral and dtype.is_signed):
            return power(self, other)
        zero, one = library.full((), 0, dtype), library.full((), 1, dtype)
        negative = other < zero
        unit = where(self == -one, where((other & one) == zero, one, -one), zero)
        return where(negative, where(self == one, one, unit), power(self, where(negative, zero, other)))

    return compute


def _round_to_itself(library: ArrayLibrary, name: str) -> Callable[..., Any]:
    """Return a rounding function that leaves integers as they are."""
    function = getattr(library.xp, name)
    return lambda self: function(self) if library.dtype_of(self).is_floating_point else self


def _make_all(library: ArrayLibrary) -> Iterator[tuple[str, Kernel]]:
    xp = library.xp
    for name, standard in UNARY.items():
        if (function := getattr(xp, standard, None)) is not None:
            yield name, unary(library, name, function)
    for name in ("isfinite", "isinf", "isnan"):
        yield name, unary(library, name, _in_bytes(library, getattr(xp, name), gives_bool=True))
    yield "sign", unary(library, "sign", _sign(library))
    if hasattr(xp, "signbit"):
        yield "signbit", unary(library, "signbit", _signbit(library))
    for name in ("ceil", "floor", "round", "trunc"):
        yield name, unary(library, name, _round_to_itself(library, name))
    for name, standard in BINARY.items():
        function = getattr(xp, standard)
        if name == "mul":
            function = _for_bool(library, function, "logical_and")
        elif name in ("lt", "le", "gt", "ge"):
            function = _in_bytes(library, function, gives_bool=True)
        yield f"{name}.Tensor", binary(library, f"{name}.Tensor", function)
        yield f"{name}.Scalar", _with_number(library, f"{name}.Scalar", function)
    for name, standard in PLAIN.items():
        if (function := getattr(xp, standard, None)) is not None:
            if name in ("maximum", "minimum"):
                function = _in_bytes(library, function, gives_bool=False)
            elif name == "pow.Tensor_Tensor":
                function = _power(library)
            yield name, (_with_number if name.endswith("_Scalar") else binary)(library, name, function)
    for name, sign in (("add", "add"), ("sub", "subtract")):
        function = _for_bool(library, _sum_of(sign)(library), "logical_or")
        yield f"{name}.Tensor", _sum_kernel(library, f"{name}.Tensor", function)
        yield f"{name}.Scalar", _with_number(library, f"{name}.Scalar", function)
    yield "fmod.Tensor", binary(library, "fmod.Tensor", _fmod(library))
    yield "where.self", _where(library)
    yield "relu", _relu(library)


def make(library: ArrayLibrary) -> dict[str, Kernel]:
    """Return the kernels for a library."""
    return dict(_make_all(library))
