"""Element-wise kernels, as rows of tables: a ufunc or a formula for each operator."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from dispatch_aten.promotion import Promotion

from ..arrays import HALF, Array, is_extended
from ..fp_errors import ignore_fp_errors
from ..halves import LOOKED_UP, MANY
from ..kernel_table import Kernel, KernelTable
from ..output_specs import conform, half_as_float, infer_output
from . import numpy_formulas as f
from .by_comparison import FOR_MANY
from .constants import NUMBERS, PLAIN, is_one, number
from .erf import erf
from .fast_paths import attempt, make_binary, make_formula, make_unary, make_with_number
from .powers import POWERS, power, power_by_number
from .rule_kernels import cast, make_elementwise, make_kernel
from .special import erfc

KERNELS: Final = KernelTable()


def dtypes_of_kinds(kinds: str) -> frozenset[np.dtype[Any]]:
    """Return the dtypes of these kinds: b(ool), i(nteger), f(loat), c(omplex)."""
    chars = {"b": "?", "i": "bhilBHIL", "f": "efd", "c": "FD"}
    return frozenset(np.dtype(char) for kind in kinds for char in chars[kind])


# Per operator: the ufunc, and the kinds of dtypes for which it gives torch's result directly.
UNARY: Final[dict[str, tuple[Callable[..., Any], str]]] = {
    "abs": (np.absolute, "f"),
    "neg": (np.negative, "ifc"),
    "exp": (np.exp, "fc"),
    "exp2": (np.exp2, "f"),
    "expm1": (np.expm1, "f"),
    "log": (np.log, "fc"),
    "log2": (np.log2, "f"),
    "log10": (np.log10, "fc"),
    "log1p": (np.log1p, "f"),
    "sqrt": (np.sqrt, "fc"),
    "reciprocal": (np.reciprocal, "f"),
    "sin": (np.sin, "fc"),
    "cos": (np.cos, "fc"),
    "tan": (np.tan, "fc"),
    "asin": (np.arcsin, "fc"),
    "acos": (np.arccos, "fc"),
    "atan": (np.arctan, "fc"),
    "sinh": (np.sinh, "fc"),
    "cosh": (np.cosh, "fc"),
    "tanh": (np.tanh, "fc"),
    "asinh": (np.arcsinh, "fc"),
    "acosh": (np.arccosh, "fc"),
    "atanh": (np.arctanh, "fc"),
    "floor": (np.floor, "f"),
    "ceil": (np.ceil, "f"),
    "trunc": (np.trunc, "f"),
    "round": (np.rint, "f"),
    "bitwise_not": (np.invert, "bi"),
    "isnan": (np.isnan, "fc"),
    "isinf": (np.isinf, "fc"),
    "logical_not": (np.logical_not, "bifc"),
}

BINARY: Final[dict[str, tuple[Callable[..., Any], str | None]]] = {
    "mul.Tensor": (np.multiply, None),
    "div.Tensor": (np.true_divide, "fc"),
    "fmod.Tensor": (np.fmod, "f"),
    "atan2": (np.arctan2, "f"),
    "maximum": (np.maximum, "bif"),
    "minimum": (np.minimum, "bif"),
    "eq.Tensor": (np.equal, None),
    "ne.Tensor": (np.not_equal, None),
    "lt.Tensor": (np.less, "bif"),
    "le.Tensor": (np.less_equal, "bif"),
    "gt.Tensor": (np.greater, "bif"),
    "ge.Tensor": (np.greater_equal, "bif"),
    "logical_and": (np.logical_and, "bifc"),
    "logical_or": (np.logical_or, "bifc"),
    "logical_xor": (np.logical_xor, "bifc"),
    "bitwise_and.Tensor": (np.bitwise_and, "bi"),
    "bitwise_or.Tensor": (np.bitwise_or, "bi"),
    "bitwise_xor.Tensor": (np.bitwise_xor, "bi"),
    "copysign.Tensor": (np.copysign, "f"),
    "hypot": (np.hypot, "f"),
    "fmax": (np.fmax, "bif"),
    "fmin": (np.fmin, "bif"),
    "gcd": (np.gcd, "i"),
    "lcm": (np.lcm, "i"),
    "nextafter": (np.nextafter, "f"),
    "bitwise_left_shift.Tensor": (np.left_shift, "i"),
    "bitwise_right_shift.Tensor": (np.right_shift, "i"),
}

# The same with a Python number, and whether the ufunc serves float32 and float64 directly; float16 is left to the general
# kernel, which keeps the number in float32.
WITH_NUMBER: Final[dict[str, tuple[Callable[..., Any], bool]]] = {
    "mul.Scalar": (np.multiply, True),
    "div.Scalar": (np.true_divide, True),
    "eq.Scalar": (np.equal, True),
    "ne.Scalar": (np.not_equal, True),
    "lt.Scalar": (np.less, True),
    "le.Scalar": (np.less_equal, True),
    "gt.Scalar": (np.greater, True),
    "ge.Scalar": (np.greater_equal, True),
    "bitwise_and.Scalar": (np.bitwise_and, False),
    "bitwise_or.Scalar": (np.bitwise_or, False),
    "bitwise_xor.Scalar": (np.bitwise_xor, False),
    "bitwise_left_shift.Tensor_Scalar": (np.left_shift, False),
    "bitwise_right_shift.Tensor_Scalar": (np.right_shift, False),
    "bitwise_left_shift.Scalar_Tensor": (np.left_shift, False),
    "bitwise_right_shift.Scalar_Tensor": (np.right_shift, False),
    "bitwise_and.Scalar_Tensor": (np.bitwise_and, False),
    "bitwise_or.Scalar_Tensor": (np.bitwise_or, False),
    "bitwise_xor.Scalar_Tensor": (np.bitwise_xor, False),
}

# The functions of general kernels where these are not the ufunc itself.
GENERAL: Final[dict[str, Callable[..., Any]]] = {
    **FOR_MANY,
    "floor": f.integers_as_is(np.floor),
    "ceil": f.integers_as_is(np.ceil),
    "trunc": f.integers_as_is(np.trunc),
    "round": f.integers_as_is(np.rint),
    "fmod.Tensor": f.fmod,
    "log1p": f.log1p,
}

# Formulas: how many operands, the function, whether float16 is computed in float32.
FORMULAS: Final[dict[str, tuple[int, Callable[..., Any], bool]]] = {
    "sign": (1, f.sign, False),
    "sgn": (1, f.sgn, False),
    "signbit": (1, lambda a: np.signbit(a) if a.dtype.kind == "f" else a < 0, False),
    "_conj_physical": (1, np.conjugate, False),
    "logaddexp": (2, f.logaddexp, True),
    "logaddexp2": (2, np.logaddexp2, True),
    "rsqrt": (1, lambda a: number(1, a) / np.sqrt(a), True),
    "frac": (1, lambda a: a - np.trunc(a), False),
    "sigmoid": (1, f.sigmoid, True),
    "erf": (1, erf, True),
    "erfc": (1, erfc, True),
    "round.decimals": (1, f.round_decimals, True),
    "nan_to_num": (1, f.nan_to_num, False),
    "silu": (1, f.silu, True),
    "gelu": (1, f.gelu, True),
    "leaky_relu": (1, f.leaky_relu, True),
    "softplus": (1, f.softplus, True),
    "elu": (1, f.elu, True),
    "threshold": (1, f.threshold, False),
    "add.Tensor": (2, f.add, True),
    "sub.Tensor": (2, f.sub, True),
    "rsub.Tensor": (2, f.rsub, True),
    "rsub.Scalar": (2, f.rsub, True),
    "add.Scalar": (2, f.add, True),
    "sub.Scalar": (2, f.sub, True),
    "floor_divide": (2, f.floor_divide, False),
    "floor_divide.Scalar": (2, f.floor_divide, False),
    "remainder.Tensor": (2, f.remainder, False),
    "remainder.Scalar": (2, f.remainder, False),
    "fmod.Scalar": (2, f.fmod, False),
    "remainder.Scalar_Tensor": (2, f.remainder, False),
    "pow.Tensor_Tensor": (2, power, True),
    "pow.Tensor_Scalar": (2, power_by_number, True),
    "pow.Scalar": (2, power, True),
    "clamp": (3, f.clamp, False),
    "clamp.Tensor": (3, f.clamp_by_tensors, False),
    "clamp_min": (2, f.clamp, False),
    "clamp_min.Tensor": (2, np.maximum, False),
    "clamp_max": (2, lambda a, high: f.clamp(a, None, high), False),
    "clamp_max.Tensor": (2, np.minimum, False),
    "lerp.Scalar": (2, f.lerp, True),
    "lerp.Tensor": (3, f.lerp, True),
    "addcmul": (3, lambda a, b, c, value=1: a + (b if is_one(value) else number(value, a) * b) * c, True),
    "addcdiv": (3, lambda a, b, c, value=1: a + (b if is_one(value) else number(value, a) * b) / c, True),
    "sigmoid_backward": (2, lambda grad, y: grad * (number(1, y) - y) * y, True),
    "tanh_backward": (2, lambda grad, y: grad * (number(1, y) - y * y), True),
    "gelu_backward": (2, f.gelu_backward, True),
    "leaky_relu_backward": (2, f.leaky_relu_backward, True),
    "silu_backward": (2, f.silu_backward, True),
    "softplus_backward": (2, f.softplus_backward, True),
    "threshold_backward": (2, f.threshold_backward, False),
    "celu": (1, f.celu, True),
    "mish": (1, f.mish, True),
    "hardtanh": (1, f.hardtanh, False),
    "hardtanh_backward": (2, f.hardtanh_backward, False),
    "hardsigmoid": (1, f.hardsigmoid, True),
    "hardsigmoid_backward": (2, f.hardsigmoid_backward, True),
    "hardswish": (1, f.hardswish, True),
    "hardswish_backward": (2, f.hardswish_backward, True),
    "hardshrink": (1, f.hardshrink, False),
    "hardshrink_backward": (2, f.shrink_backward, False),
    "softshrink": (1, f.softshrink, False),
    "softshrink_backward": (2, f.shrink_backward, False),
    "_prelu_kernel": (2, f.prelu, False),
}

#: Formulas that small arrays go through at once, and their options behind the arrays as `make_formula` takes them.
AT_ONCE: Final[dict[str, str]] = {
    **dict.fromkeys(
        "clamp_max.Tensor clamp_min.Tensor floor_divide frac lerp.Tensor logaddexp logaddexp2 pow.Tensor_Tensor "
        "hardsigmoid hardsigmoid_backward hardswish hardswish_backward mish _prelu_kernel "
        "remainder.Tensor rsqrt sgn sigmoid sigmoid_backward sign signbit silu tanh_backward _conj_physical "
        "silu_backward".split(),
        "",
    ),
    "addcdiv": "*, value=1",
    "addcmul": "*, value=1",
    "celu": "alpha=1.0",
    "hardshrink": "lambd=0.5",
    "hardshrink_backward": "lambd",
    "hardtanh_backward": "min_val, max_val",
    "softshrink": "lambd=0.5",
    "softshrink_backward": "lambd",
    "elu": "alpha=1, scale=1, input_scale=1",
    "gelu": "*, approximate='none'",
    "gelu_backward": "*, approximate='none'",
    "leaky_relu": "negative_slope=0.01",
    "leaky_relu_backward": "negative_slope, self_is_result",
    "lerp.Scalar": "weight",
    "round.decimals": "*, decimals",
    "softplus": "beta=1, threshold=20",
    "softplus_backward": "beta, threshold",
    "threshold": "threshold, value",
}

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

    return kernel


def _install() -> None:
    for name, (ufunc, kinds) in UNARY.items():
        general = make_elementwise(name, GENERAL.get(name, ufunc), 1)
        KERNELS[name] = make_unary(ufunc, general, dtypes_of_kinds(kinds), only_few=name in FOR_MANY)
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
            general if options is None else make_formula(formula, general, arity, options, first=_FIRST.get(name, "a"))
        )


_install()

_ZEROS: Final = {dtype: np.zeros((), dtype) for dtype in dtypes_of_kinds("if")}
KERNELS["threshold_backward"] = _threshold_backward(KERNELS["threshold_backward"])
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

for _name, (_parameters, _when, _bounds) in CLAMPS.items():
    KERNELS[_name] = attempt(
        _parameters,
        f"(numbers := NUMBERS.get(dtype := self.dtype)) is not None and {_when}",
        f"clip(self, {_bounds})",
        KERNELS[_name],
        operands="self",
        clip=f.CLIP,
        ENDS=f.ENDS,
        OPTIONAL=OPTIONAL,
    )


def _nan_to_num(general: Kernel) -> Kernel:
    """Replace infinities by the greatest numbers of the array's own dtype, in whichever one computes."""

    def kernel(self: Array, nan: float | None = None, posinf: float | None = None, neginf: float | None = None) -> Any:
        if is_extended(self.dtype):
            from ml_dtypes import finfo  # the array's dtype is one of its

            most = float(finfo(self.dtype).max)  # type: ignore[no-untyped-call]
            posinf, neginf = most if posinf is None else posinf, -most if neginf is None else neginf
        return general(self, nan, posinf, neginf)

    return kernel


def _nextafter(general: Kernel) -> Kernel:
    """Step in the arrays' own dtype, which no wider one can stand for."""

    @ignore_fp_errors
    def kernel(self: Array, other: Array) -> Any:
        if is_extended(self.dtype) and self.dtype is other.dtype:
            return conform(np.nextafter(self, other), infer_output("nextafter", self, other))
        return general(self, other)

    return kernel


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

    return kernel


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
KERNELS["where.self"] = attempt(
    "condition, self, other",
    "condition.dtype is BOOL and self.dtype is other.dtype",
    "select(condition, self, other)",
    _where_self,
    accept=_CHOSEN.format("condition", "other"),
    rule="where.self",
    select=f.select,
    BOOL=_BOOL,
)


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


KERNELS["masked_fill.Scalar"] = attempt(
    "self, mask, value",
    # What is greater may be too much for the dtype, unless it is infinite.
    "(numbers := NUMBERS.get(self.dtype)) is not None and mask.dtype is BOOL and type(value) in PLAIN"
    " and (-1e38 < value < 1e38 or value - value != 0)",
    "select(mask, numbers[value], self)",
    _masked_fill,
    accept=_CHOSEN.format("mask", "self"),
    rule="masked_fill.Scalar",
    select=f.select,
    BOOL=_BOOL,
)

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

    return attempt(
        "self, other, *, alpha=1",
        "(numbers := NUMBERS.get(dtype := self.dtype)) is not None and dtype is other.dtype and type(alpha) in PLAIN",
        "run(scale, self, other, numbers[alpha])",
        make_elementwise(name, FORMULAS[name][1], 2, opmath=True),
        operands="self, other",
        scale=scale,
    )


for _name, _ufunc in (("add.Tensor", np.add), ("sub.Tensor", np.subtract)):
    KERNELS[_name] = _with_factor(_name, _ufunc)


SPECIALIZED: Final[dict[str, Kernel]] = {
    "add.Scalar": make_with_number(np.add, partial(KERNELS["add.Scalar"], alpha=1), integers=True),
    "sub.Scalar": make_with_number(np.subtract, partial(KERNELS["sub.Scalar"], alpha=1), integers=True),
    "rsub.Scalar": make_with_number(f.rsub, partial(KERNELS["rsub.Scalar"], alpha=1), integers=True),
    "add.Tensor": make_binary(np.add, partial(KERNELS["add.Tensor"], alpha=1), None),
    "sub.Tensor": make_binary(np.subtract, partial(KERNELS["sub.Tensor"], alpha=1), None),
}
"""Kernels that serve the calls with ``alpha == 1`` and do not receive it."""
