"""Element-wise kernels: those of the rows of `table`, and some that have ways of their own."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np

from dispatch_aten.promotion import Promotion

from ...arrays import HALF, Array, is_extended, numpy_dtype
from ...fp_errors import ignore_fp_errors
from ...halves import LOOKED_UP, MANY
from ...kernel_table import Kernel, KernelTable, computed_by
from ...output_specs import conform, half_as_float, infer_output
from ..support.compiled_kernels import native, native_formula
from ..support.constants import NUMBERS, PLAIN, number
from ..support.fast_paths import attempt, make_binary, make_formula, make_unary, make_with_number
from ..support.rule_kernels import cast, make_elementwise, make_kernel
from . import numpy_formulas as f
from .by_comparison import FOR_MANY
from .erf import erf
from .powers import POWERS
from .special import erfc
from .table import AT_ONCE, BINARY, FORMULAS, GENERAL, UNARY, WITH_NUMBER, dtypes_of_kinds

KERNELS: Final = KernelTable()

#: Formulas without options of an array and a Python number.
_WITH_PLAIN_NUMBER: Final = frozenset({"floor_divide.Scalar", "remainder.Scalar", "fmod.Scalar"})

#: The array that decides about the layout of a formula's result, where it is not the first.
_FIRST: Final = {"leaky_relu_backward": "b"}


def _threshold_backward(general: Kernel) -> Kernel:
    """Make relu's backward kernel: at once where both arrays are contiguous and of one dtype."""

    def kernel(grad_output: Array, self: Array, threshold: Any) -> Any:
        zero = _ZEROS.get(dtype := self.dtype)
        if (
            grad_output.dtype is dtype
            and zero is not None
            and threshold == 0
            and grad_output.shape == self.shape
            and self.flags.c_contiguous
            and grad_output.flags.c_contiguous
            and 1 not in self.shape
        ):
            return f.select(self <= zero, zero, grad_output)
        return general(grad_output, self, threshold)

    return computed_by(kernel, general)


def _install() -> None:
    for name, (ufunc, kinds) in UNARY.items():
        general = make_elementwise(name, GENERAL.get(name, ufunc), 1)
        by_float = name not in GENERAL
        KERNELS[name] = make_unary(ufunc, general, dtypes_of_kinds(kinds), only_few=name in FOR_MANY, by_float=by_float)
    for name, (ufunc, kinds_or_all) in BINARY.items():
        allowed = None if kinds_or_all is None else dtypes_of_kinds(kinds_or_all)
        general = make_elementwise(name, GENERAL.get(name, ufunc), 2)
        KERNELS[name] = make_binary(ufunc, general, allowed, only_few=name in FOR_MANY)
    for name, (ufunc, real) in WITH_NUMBER.items():
        general = make_elementwise(name, ufunc, 2, opmath=name.startswith(("mul", "div")))
        KERNELS[name] = make_with_number(ufunc, general, integers=name != "div.Scalar") if real else general
    for name, (arity, formula, opmath) in FORMULAS.items():
        general = make_elementwise(name, formula, arity, opmath=opmath)
        options = AT_ONCE.get(name)
        if name in _WITH_PLAIN_NUMBER:
            KERNELS[name] = make_with_number(formula, general, name, integers=True)
            continue
        KERNELS[name] = (
            general
            if options is None
            else make_formula(formula, general, arity, options, first=_FIRST.get(name, "a"), opmath=opmath)
        )


_install()

_ZEROS: Final = {dtype: np.zeros((), dtype) for dtype in dtypes_of_kinds("if")}
KERNELS["threshold_backward"] = native(
    "gate", _threshold_backward(KERNELS["threshold_backward"]), None, NUMBERS, halves=1
)
KERNELS["pow.Tensor_Scalar"] = attempt(
    "a, b",
    "(powers := POWERS.get(type(b))) is not None and (powers := powers.get(a.dtype)) is not None"
    " and (power := powers.get(b)) is not None",
    "run(power, a)",
    make_with_number(np.power, KERNELS["pow.Tensor_Scalar"], "pow.Tensor_Scalar"),
    operands="a",
    POWERS={int: POWERS, float: {dtype: powers for dtype, powers in POWERS.items() if dtype.kind in "fc"}},
)
_relu_general: Final = make_elementwise("relu", f.relu, 1)
#: Per dtype zero, and the greatest value where the ufunc beneath ``np.clip`` is to bound.
_FROM_ZERO: Final = {
    dtype: (zero, f.ENDS[dtype][1] if f.CLIP is not None and dtype in NUMBERS else None)
    for dtype, zero in _ZEROS.items()
    if dtype in f.ENDS or dtype.char == "e"
}
_clip, _maximum = f.CLIP, np.maximum


@KERNELS("relu")
def _relu(self: Array) -> Any:
    bounds = _FROM_ZERO.get(self.dtype)
    if bounds is None or not self.flags.c_contiguous or (bounds[1] is None and self.size >= LOOKED_UP):
        return _relu_general(self)
    zero, top = bounds
    return _maximum(self, zero) if top is None else _clip(self, zero, top)


_BOUNDS: Final = {dtype.num: bounds for dtype, bounds in _FROM_ZERO.items() if bounds[1] is not None}
KERNELS["relu"] = native("bounded", _relu, _clip, NUMBERS, constants=_BOUNDS, halves=1)

KERNELS["clamp.Tensor"] = attempt(
    "self, min=None, max=None",
    "(dtype := self.dtype) in NUMBERS and type(min) is type(max) is ndarray and min.dtype is max.dtype is dtype",
    "run(formula, self, min, max)",
    KERNELS["clamp.Tensor"],
    operands="self, min, max",
    formula=f.clamp_by_tensors,
)

_LEAST, _GREATEST = "ENDS[dtype][0]", "ENDS[dtype][1]"
#: Clamp kernels: their parameters, which bounds are passed to the ufunc at once, and how. It never warns.
CLAMPS: Final[dict[str, tuple[str, str, str]]] = {
    "clamp": (
        "self, min=None, max=None",
        "type(min) in OPTIONAL and type(max) in OPTIONAL and (min is not None or max is not None)",
        f"{_LEAST} if min is None else numbers[min], {_GREATEST} if max is None else numbers[max]",
    ),
    "clamp_min": ("self, min", "type(min) in PLAIN", f"numbers[min], {_GREATEST}"),
    "hardtanh": (
        "self, min_val=-1, max_val=1",
        "type(min_val) in PLAIN and type(max_val) in PLAIN",
        "numbers[min_val], numbers[max_val]",
    ),
    "clamp_max": ("self, max", "type(max) in PLAIN", f"{_LEAST}, numbers[max]"),
}
if f.CLIP is None:
    CLAMPS.clear()

OPTIONAL: Final = PLAIN | {type(None)}

#: The way of a compiled kernel for each.
_COMPILED: Final = {"clamp_min": "clamp min", "clamp_max": "clamp max"}
_ENDS: Final = {dtype.num: ends for dtype, ends in f.ENDS.items() if dtype in NUMBERS}

for _name, (_parameters, _when, _bounds) in CLAMPS.items():
    _kernel = attempt(
        _parameters,
        f"(numbers := NUMBERS.get(dtype := self.dtype)) is not None and {_when}",
        f"clip(self, {_bounds})",
        KERNELS[_name],
        operands="self",
        clip=f.CLIP,
        ENDS=f.ENDS,
        OPTIONAL=OPTIONAL,
    )
    KERNELS[_name] = native(_COMPILED.get(_name, "clamp"), _kernel, f.CLIP, NUMBERS, constants=_ENDS)


def _nan_to_num(general: Kernel) -> Kernel:
    """Replace infinities by the greatest numbers of the array's own dtype, in whichever one computes."""

    def kernel(self: Array, nan: float | None = None, posinf: float | None = None, neginf: float | None = None) -> Any:
        if is_extended(self.dtype):
            from ml_dtypes import finfo  # the array's dtype is one of its

            most = float(finfo(self.dtype).max)  # type: ignore[no-untyped-call]
            posinf, neginf = most if posinf is None else posinf, -most if neginf is None else neginf
        return general(self, nan, posinf, neginf)

    return computed_by(kernel, general)


def _nextafter(general: Kernel) -> Kernel:
    """Step in the arrays' own dtype, which no wider one can stand for."""

    @ignore_fp_errors
    def kernel(self: Array, other: Array) -> Any:
        if is_extended(self.dtype) or is_extended(other.dtype):
            spec = infer_output("nextafter", self, other)
            if is_extended(dtype := numpy_dtype(spec.dtype)):
                return conform(np.nextafter(cast(self, dtype), cast(other, dtype)), spec)
        return general(self, other)

    return computed_by(kernel, general)


KERNELS["nextafter"] = _nextafter(KERNELS["nextafter"])
for _name, _function in (("erf", erf), ("erfc", erfc)):
    KERNELS[_name] = make_unary(_function, KERNELS[_name], frozenset(map(np.dtype, "fd")))
KERNELS["nan_to_num"] = _nan_to_num(KERNELS["nan_to_num"])


def _div_mode(name: str) -> Kernel:
    """Make a division with a rounding mode, which decides about the dtype."""
    unrounded = make_elementwise(name, f.div_mode, 2)
    rounded = make_elementwise(name, f.div_mode, 2, promotion=Promotion.SAME)

    def kernel(self: Array, other: Any, *, rounding_mode: str | None) -> Any:
        if rounding_mode == "trunc" and (self.dtype is HALF or is_extended(self.dtype)):
            # Torch rounds the quotient to the dtype before.
            return KERNELS["trunc"](unrounded(self, other, rounding_mode=None))
        return (unrounded if rounding_mode is None else rounded)(self, other, rounding_mode=rounding_mode)

    return computed_by(kernel, f.div_mode)


for _name in ("div.Tensor_mode", "div.Scalar_mode"):
    KERNELS[_name] = _div_mode(_name)


@ignore_fp_errors
def _where_self(condition: Array, self: Array, other: Array) -> Array:
    spec = infer_output("where.self", condition, self, other)
    dtype = spec.array_dtype
    return conform(f.where(condition, cast(self, dtype), cast(other, dtype)), spec)


#: How a choice by a condition is taken as it is: the operands are {0} and {1}.
_CHOSEN: Final = (
    "r.ndim < 2 or ({0}.flags.c_contiguous and {1}.flags.c_contiguous and self.flags.c_contiguous and 1 not in r.shape)"
)
_BOOL: Final = np.dtype(np.bool_)
_where: Final = attempt(
    "condition, self, other",
    "condition.dtype is BOOL and self.dtype is other.dtype",
    "select(condition, self, other)",
    _where_self,
    accept=_CHOSEN.format("condition", "other"),
    rule="where.self",
    select=f.select,
    BOOL=_BOOL,
)
KERNELS["where.self"] = native("where", _where, None, None)


@KERNELS("elu_backward")
@ignore_fp_errors
def _elu_backward(
    grad_output: Array, alpha: Any, scale: Any, input_scale: Any, is_result: bool, self_or_result: Array
) -> Array:
    spec = infer_output("elu_backward", grad_output, alpha, scale, input_scale, is_result, self_or_result)
    dtype = half_as_float(spec.array_dtype)
    grad, a = cast(grad_output, dtype), cast(self_or_result, dtype)
    return conform(f.elu_backward(grad, a, alpha, scale, input_scale, is_result), spec)


def name_fill(self: Array, value: Any) -> str:
    """Return the overload of ``masked_fill`` for a value; refuses a complex number that the array cannot hold."""
    if not isinstance(value, np.ndarray):
        return "Scalar"
    if value.dtype.kind == "c" and self.dtype.kind != "c" and not value.ndim:
        infer_output("fill.Scalar", self, value.item())
    return "Tensor"


@KERNELS("masked_fill.Tensor")
@ignore_fp_errors
def _masked_fill(self: Array, mask: Array, value: Any) -> Array:
    spec = infer_output(f"masked_fill.{name_fill(self, value)}", self, mask, value)
    return conform(f.select(mask, cast(value, self.dtype), self), spec)


_filled: Final = attempt(
    "self, mask, value",
    # A greater number may be too much for the dtype, unless it is infinite.
    "(numbers := NUMBERS.get(self.dtype)) is not None and mask.dtype is BOOL and type(value) in PLAIN"
    " and (-1e38 < value < 1e38 or value - value != 0)",
    "select(mask, numbers[value], self)",
    _masked_fill,
    accept=_CHOSEN.format("mask", "self"),
    rule="masked_fill.Scalar",
    select=f.select,
    BOOL=_BOOL,
)
KERNELS["masked_fill.Scalar"] = native("masked fill", _filled, None, NUMBERS)

KERNELS["frexp.Tensor"] = make_kernel("frexp.Tensor", lambda spec, a: np.frexp(a))


def _with_factor(name: str, ufunc: Any) -> Kernel:
    """Make ``add`` or ``sub`` with a factor: at once where both operands are of one real dtype."""

    def scale(self: Array, other: Array, factor: Array) -> Array:
        product = np.multiply(other, factor)
        # Large memory costs more to get than to write.
        return (
            ufunc(self, product, product)
            if product.size > MANY and product.shape == self.shape
            else ufunc(self, product)
        )

    def compute(self: Array, other: Array, *, alpha: Any = 1) -> Any:
        return ufunc(self, np.multiply(other, number(alpha, other))) if type(alpha) in PLAIN else NotImplemented

    kernel = attempt(
        "self, other, *, alpha=1",
        "(numbers := NUMBERS.get(dtype := self.dtype)) is not None and dtype is other.dtype and type(alpha) in PLAIN",
        "run(scale, self, other, numbers[alpha])",
        make_elementwise(name, FORMULAS[name][1], 2, opmath=True),
        operands="self, other",
        scale=scale,
    )
    return native_formula(kernel, compute, 2, opmath=True)


for _name, _ufunc in (("add.Tensor", np.add), ("sub.Tensor", np.subtract)):
    KERNELS[_name] = _with_factor(_name, _ufunc)


def _without_factor(name: str, ufunc: Any) -> Kernel:
    general = partial(KERNELS[name], alpha=1)
    is_number = name.endswith(".Scalar")
    reverses = np.subtract if ufunc is f.rsub else None
    made = (
        make_with_number(ufunc, general, integers=True, reverses=reverses)
        if is_number
        else make_binary(ufunc, general, None)
    )
    return computed_by(made, ufunc)


_SUMS: Final = {
    "add.Scalar": np.add,
    "sub.Scalar": np.subtract,
    "rsub.Scalar": f.rsub,
    "add.Tensor": np.add,
    "sub.Tensor": np.subtract,
}
SPECIALIZED: Final[dict[str, Kernel]] = {name: _without_factor(name, ufunc) for name, ufunc in _SUMS.items()}
"""Kernels that serve the calls with ``alpha == 1`` and do not receive it."""
