"""Element-wise operators: tensors broadcast by their logical ranks, and dtypes are promoted by them."""

from __future__ import annotations

from typing import Any, Final

from dispatch_aten.dtypes import ScalarType
from dispatch_aten.errors import ShapeError
from dispatch_aten.promotion import Category, Operand, result_type

from .calls import Batch, BatchedCall, Rule, align, aten, dtype_of, rank_of

#: Tensors that say where, and whose dtype promotes nothing.
_MASKS: Final = frozenset({"condition", "mask"})


def broadcast(call: BatchedCall) -> Any:
    """Call an operator whose tensors broadcast, at the largest logical rank.

    A batch of tensors without dimensions has one below, and would count for more in promotion than it may: it gets the
    dtype of the result beforehand.
    """
    names = tuple(call.tensors())
    values = call.values
    if len(names) == 1:
        return call.run(**{names[0]: align(values[names[0]], 0)})
    rank = max([rank_of(values[name]) for name in names])
    _promote(call, names)
    return call.run(**{name: align(values[name], rank) for name in names})


def _promote(call: BatchedCall, names: tuple[str, ...]) -> None:
    values = call.values
    operands = [name for name in names if name not in _MASKS]
    if len({dtype_of(values[name]) for name in operands}) == 1:
        return
    common: ScalarType | None = None
    for name in operands:
        value = values[name]
        if type(value) is not Batch or rank_of(value):
            continue
        if common is None:
            common = result_type(*(_operand(values[each]) for each in operands))
        if value.tensor.dtype != common and not _is_written(call, name):
            values[name] = Batch(aten._to_copy.default(value.tensor, dtype=common))


def _operand(value: Any) -> Operand:
    return Operand(dtype_of(value), Category.DIMENSIONED if rank_of(value) else Category.ZERO_DIM)


def _is_written(call: BatchedCall, name: str) -> bool:
    return any(each.name == name and each.is_write for each in call.op.schema.arguments)


def same_shapes(call: BatchedCall) -> Any:
    """Call an operator whose tensors have one shape and none of which decides the results' alone."""
    return call.run(**{name: call.with_batch(name) for name in call.tensors()})


def _copy(call: BatchedCall) -> Any:
    rank = call.rank("self")
    if call.rank("src") > rank:
        shapes = f"shape {list(call.shape('self'))} doesn't match the broadcast shape {list(call.shape('src'))}"
        raise ShapeError(f"output with {shapes}", argument="src")
    return call.run(self=call.with_batch("self"), src=align(call["src"], rank))


def _fill(call: BatchedCall) -> Any:
    value = call.values.get("value")
    if type(value) is not Batch:
        return call.run(self=call.with_batch("self"))
    if rank_of(value):
        call.run(self=call.with_batch("self"), value=value.tensor[0])  # refused, in torch's words
    op = aten.copy_.default if call.op.name.startswith("aten::fill_") else aten.copy.default
    return op(call.with_batch("self"), align(value, call.rank("self")))


def fill_where(call: BatchedCall) -> Any:
    """Fill with a tensor without dimensions where a mask is true, in the dtype of the first tensor."""
    rank = max(call.rank("self"), call.rank("mask"))
    if not call.is_batched("value"):
        return call.run(self=align(call["self"], rank), mask=align(call["mask"], rank))
    value = aten._to_copy.default(call["value"].tensor, dtype=dtype_of(call["self"]))
    return aten.where.self(align(call["mask"], rank), align(Batch(value), rank), align(call["self"], rank))


_ARITHMETIC: Final = """
    add sub rsub mul div remainder fmod pow neg abs sign exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal sin cos
    tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh sigmoid erf erfc floor ceil round trunc frac clamp clamp_min
    clamp_max maximum minimum lerp addcmul addcdiv nan_to_num floor_divide copysign nextafter hypot fmax fmin gcd
    lcm frexp heaviside logaddexp logaddexp2 deg2rad rad2deg
"""
_LOGIC: Final = """
    logical_and logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor bitwise_left_shift
    bitwise_right_shift bitwise_not isnan isinf signbit isposinf isneginf eq ne lt le gt ge
"""
_ACTIVATIONS: Final = """
    relu silu gelu leaky_relu softplus elu threshold threshold_backward sigmoid_backward tanh_backward silu_backward
    gelu_backward hardtanh celu mish hardsigmoid hardshrink softshrink hardswish hardsigmoid_backward hardswish_backward
    hardshrink_backward softshrink_backward mish_backward _prelu_kernel hardtanh_backward
    log_sigmoid_forward log_sigmoid_backward leaky_relu_backward softplus_backward elu_backward
    native_dropout_backward
"""
_SPECIAL: Final = """
    xlogy sinc i0 igamma igammac lgamma digamma polygamma erfinv logit logit_backward special_airy_ai special_bessel_j0
    special_bessel_j1 special_bessel_y0 special_bessel_y1 special_chebyshev_polynomial_t special_chebyshev_polynomial_u
    special_chebyshev_polynomial_v special_chebyshev_polynomial_w special_entr special_erfcx special_hermite_polynomial_h
    special_hermite_polynomial_he special_i0e special_i1 special_i1e special_laguerre_polynomial_l
    special_legendre_polynomial_p special_log_ndtr special_modified_bessel_i0 special_modified_bessel_i1
    special_modified_bessel_k0 special_modified_bessel_k1 special_ndtri special_scaled_modified_bessel_k0
    special_scaled_modified_bessel_k1 special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u
    special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w special_spherical_bessel_j0
    special_xlog1py special_zeta angle _conj_physical sgn complex _standard_gamma_grad _dirichlet_grad
"""

FAMILIES: Final[dict[str, Rule]] = {
    **dict.fromkeys(f"{_ARITHMETIC} {_LOGIC} {_ACTIVATIONS} {_SPECIAL}".split(), broadcast),
    "copy": _copy,
    "fill": _fill,
    "zero": _fill,
}
"""Rules of all overloads of an operator, in-place ones included, by its name without underscore and overload."""

RULES: Final[dict[str, Rule]] = {
    "_prelu_kernel_backward": same_shapes,
    "rrelu_with_noise_backward": same_shapes,
    "where.self": broadcast,
    "masked_fill.Scalar": broadcast,
    "masked_fill.Tensor": fill_where,
}
