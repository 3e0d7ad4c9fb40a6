"""Derivative formulas of element-wise operators; see ``dispatch_aten.derivatives``."""

from __future__ import annotations

from typing import Final

FORMULAS: Final = {
    "abs": {"self": "mul(grad, sgn(self))"},
    "acos": {"self": "neg(mul(grad, rsqrt(one_minus(square(self)))))"},
    "acosh": {"self": "mul(grad, acosh_slope(self))"},
    "add.Tensor": {"self": "grad", "other": "maybe_multiply(grad, alpha)"},
    "add.Scalar": {"self": "grad"},
    "addcdiv": {
        "self": "grad",
        "tensor1": "mul(grad, maybe_multiply(reciprocal(tensor2), value))",
        "tensor2": "neg(mul(grad, maybe_multiply(div(tensor1, square(tensor2)), value)))",
    },
    "addcmul": {
        "self": "grad",
        "tensor1": "mul(grad, maybe_multiply(tensor2, value))",
        "tensor2": "mul(grad, maybe_multiply(tensor1, value))",
    },
    "asin": {"self": "mul(grad, rsqrt(one_minus(square(self))))"},
    "asinh": {"self": "mul(grad, rsqrt(add(square(self), 1)))"},
    "atan": {"self": "div(grad, add(square(self), 1))"},
    "atan2": {
        "self": "mul(grad, div(other, squared_radius(self, other)))",
        "other": "neg(mul(grad, div(self, squared_radius(self, other))))",
    },
    "atanh": {"self": "div(grad, one_minus(square(self)))"},
    "copysign.Tensor": {"self": "copysign_gradient(grad, self, result)", "other": "zeros_like(other)"},
    "deg2rad": {"self": "mul(grad, 0.017453292519943295)"},
    "rad2deg": {"self": "mul(grad, 57.29577951308232)"},
    "fmax": {
        "self": "where(or_nan(ge(self, other), other), grad, 0)",
        "other": "where(or_nan(ge(self, other), other), 0, grad)",
    },
    "fmin": {
        "self": "where(or_nan(le(self, other), other), grad, 0)",
        "other": "where(or_nan(le(self, other), other), 0, grad)",
    },
    "frexp.Tensor": {"self": "div(grad, exp2(result1))"},
    "hypot": {"self": "mul(grad, div(self, result))", "other": "mul(grad, div(other, result))"},
    "logaddexp": {
        "self": "div(grad, add(exp(sub(other, self)), 1))",
        "other": "div(grad, add(exp(sub(self, other)), 1))",
    },
    "logaddexp2": {
        "self": "div(grad, add(exp2(sub(other, self)), 1))",
        "other": "div(grad, add(exp2(sub(self, other)), 1))",
    },
    "ceil": {"self": "zeros_like(grad)"},
    "clamp": {"self": "clamp_gradient(grad, self, min, max)"},
    "clamp.Tensor": {
        "self": "clamp_gradient(grad, self, min, max)",
        "min": "clamp_min_gradient(grad, self, min, max)",
        "max": "clamp_max_gradient(grad, self, min, max)",
    },
    "clamp_max": {"self": "where(le(self, max), grad, 0)"},
    "clamp_max.Tensor": {"self": "where(le(self, max), grad, 0)", "max": "where(gt(self, max), grad, 0)"},
    "clamp_min": {"self": "where(ge(self, min), grad, 0)"},
    "clamp_min.Tensor": {"self": "where(ge(self, min), grad, 0)", "min": "where(lt(self, min), grad, 0)"},
    "cos": {"self": "neg(mul(grad, sin(self)))"},
    "cosh": {"self": "mul(grad, sinh(self))"},
    "div.Tensor": {"self": "div(grad, other)", "other": "neg(mul(grad, div(div(self, other), other)))"},
    "div.Scalar": {"self": "div(grad, other)"},
    "div.Tensor_mode": {
        "self": "div_mode_gradient(grad, other, rounding_mode)",
        "other": "div_mode_other_gradient(grad, self, other, rounding_mode)",
    },
    "div.Scalar_mode": {"self": "div_mode_gradient(grad, other, rounding_mode)"},
    "erf": {"self": "mul(grad, mul(exp(neg(square(self))), 1.1283791670955126))"},
    "erfc": {"self": "mul(grad, mul(exp(neg(square(self))), -1.1283791670955126))"},
    "exp": {"self": "mul(grad, result)"},
    "exp2": {"self": "mul(grad, mul(result, 0.6931471805599453))"},
    "expm1": {"self": "mul(grad, add(result, 1))"},
    "floor": {"self": "zeros_like(grad)"},
    "fmod.Scalar": {"self": "grad"},
    "fmod.Tensor": {"self": "grad", "other": "neg(mul(grad, div(self, other, rounding_mode='trunc')))"},
    "frac": {"self": "grad"},
    "lerp.Scalar": {"self": "mul(grad, 1 - weight)", "end": "mul(grad, weight)"},
    "lerp.Tensor": {
        "self": "mul(grad, one_minus(weight))",
        "end": "mul(grad, weight)",
        "weight": "mul(grad, sub(end, self))",
    },
    "log": {"self": "div(grad, self)"},
    "log10": {"self": "div(grad, mul(self, 2.302585092994046))"},
    "log1p": {"self": "div(grad, add(self, 1))"},
    "log2": {"self": "div(grad, mul(self, 0.6931471805599453))"},
    "masked_fill.Scalar": {"self": "masked_fill(grad, mask, 0)"},
    "masked_fill.Tensor": {"self": "masked_fill(grad, mask, 0)", "value": "sum(where(mask, grad, 0))"},
    "maximum": {
        "self": "masked_fill(halve_where(grad, eq(self, other)), lt(self, other), 0)",
        "other": "masked_fill(halve_where(grad, eq(self, other)), gt(self, other), 0)",
    },
    "minimum": {
        "self": "masked_fill(halve_where(grad, eq(self, other)), gt(self, other), 0)",
        "other": "masked_fill(halve_where(grad, eq(self, other)), lt(self, other), 0)",
    },
    "mul.Tensor": {"self": "mul(grad, other)", "other": "mul(grad, self)"},
    "mul.Scalar": {"self": "mul(grad, other)"},
    "nan_to_num": {"self": "mul(grad, isfinite(self))"},
    "neg": {"self": "neg(grad)"},
    "nextafter": {"self": "mul(grad, ne(self, other))", "other": "zeros_like(grad)"},
    "pow.Tensor_Scalar": {"self": "pow_gradient(grad, self, exponent)"},
    "pow.Tensor_Tensor": {
        "self": "pow_gradient(grad, self, exponent)",
        "exponent": "pow_exponent_gradient(grad, self, exponent, result)",
    },
    "pow.Scalar": {"exponent": "pow_exponent_gradient(grad, self, exponent, result)"},
    "reciprocal": {"self": "neg(mul(grad, square(result)))"},
    "remainder.Scalar": {"self": "grad"},
    "remainder.Tensor": {"self": "grad", "other": "neg(mul(grad, div(self, other, rounding_mode='floor')))"},
    "remainder.Scalar_Tensor": {"other": "neg(mul(grad, floor_of_ratio(self, other)))"},
    "round": {"self": "zeros_like(grad)"},
    "round.decimals": {"self": "zeros_like(grad)"},
    "rsqrt": {"self": "mul(grad, mul(pow(result, 3), -0.5))"},
    "rsub.Tensor": {"self": "maybe_multiply(grad, -alpha)", "other": "grad"},
    "rsub.Scalar": {"self": "maybe_multiply(grad, -alpha)"},
    "sign": {"self": "zeros_like(grad)"},
    "sin": {"self": "mul(grad, cos(self))"},
    "sinh": {"self": "mul(grad, cosh(self))"},
    "sqrt": {"self": "div(grad, mul(result, 2))"},
    "sub.Tensor": {"self": "grad", "other": "maybe_multiply(grad, -alpha)"},
    "sub.Scalar": {"self": "grad"},
    "tan": {"self": "mul(grad, add(square(result), 1))"},
    "tanh": {"self": "tanh_backward(grad, result)"},
    "trunc": {"self": "zeros_like(grad)"},
    "where.self": {"self": "where(condition, grad, 0)", "other": "where(condition, 0, grad)"},
}

DIFFERENTIABLE_OUTPUTS: Final = {"frexp.Tensor": (True, False)}

NOT_DIFFERENTIABLE: Final = frozenset(
    """
    signbit gcd lcm heaviside isposinf isneginf isin.Tensor_Tensor isin.Tensor_Scalar isin.Scalar_Tensor
    is_same_size
    """.split()
)
