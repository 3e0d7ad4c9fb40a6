"""Tables of the element-wise operators: a ufunc or a formula for each, and the dtypes that it serves directly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ..support.constants import is_one, number
from . import numpy_formulas as f
from .by_comparison import FOR_MANY
from .erf import erf
from .powers import power, power_by_number
from .special import erfc


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
        "hardsigmoid hardsigmoid_backward hardswish hardswish_backward mish _prelu_kernel erf "
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
