"""Shape rules of element-wise operators: broadcasting, promotion and ``TensorIterator``'s layout.

`elementwise_rule` is that of every pointwise row without a rule of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dispatch_aten.dtypes import bool_, int32, uint8
from dispatch_aten.errors import DtypeError, OperatorError
from dispatch_aten.promotion import Number, Promotion, result_type, rule_for
from dispatch_aten.shapes.elementwise import common_type, elementwise
from dispatch_aten.shapes.layout import broadcast_shapes, preserve_format
from dispatch_aten.shapes.meta import TensorMeta, contiguous
from dispatch_aten.shapes.refusals import (
    c_name,
    check_fits,
    check_kernel,
    kind_of,
    refuse,
    refuse_kinds,
    refused_dtypes,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def elementwise_rule(name: str, arity: int) -> Callable[..., TensorMeta]:
    """Make the rule of an operator whose leading ``arity`` arguments are its operands."""
    promotion = rule_for(name)
    check = _CHECKS.get(name.partition(".")[0])
    refused = refused_dtypes(name)

    def rule(*args: Any, **options: Any) -> TensorMeta:
        operands = args[:arity]
        suspect = bool(refused) and common_type(operands) in refused
        if suspect:
            refuse(name, common_type(operands))
        result = elementwise(*operands, promotion=promotion)
        if check is not None:
            check(*args, **options)
        if suspect:
            check_kernel(name, common_type(operands))
        return result

    return rule


def _is_bool(value: TensorMeta | Number) -> bool:
    return value.dtype == bool_ if isinstance(value, TensorMeta) else isinstance(value, bool)


def _check_alpha(self: TensorMeta | Number, other: TensorMeta | Number, alpha: Number = 1) -> None:
    if alpha.__class__ is int:
        return
    common = result_type(self, other)
    if isinstance(alpha, bool) and common != bool_:
        raise OperatorError("Boolean alpha only supported for Boolean results.", argument="alpha")
    if isinstance(alpha, float) and not (common.is_floating_point or common.is_complex):
        raise OperatorError(
            "For integral input tensors, argument alpha must not be a floating point number.", argument="alpha"
        )
    if isinstance(alpha, complex) and not common.is_complex:
        raise OperatorError(
            "For non-complex input tensors, argument alpha must not be a complex number.", argument="alpha"
        )


def _check_subtraction(self: TensorMeta | Number, other: TensorMeta | Number) -> None:
    if _is_bool(self) and _is_bool(other):
        raise OperatorError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. "
            "Use the `^` or `logical_xor()` operator instead.",
            argument="other",
        )
    if _is_bool(self) or _is_bool(other):
        raise OperatorError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. "
            "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.",
            argument="self" if _is_bool(self) else "other",
        )


def _check_pow(self: TensorMeta | Number, exponent: TensorMeta | Number) -> None:
    if (
        isinstance(exponent, int)
        and not isinstance(exponent, bool)
        and exponent < 0
        and isinstance(self, TensorMeta)
        and (self.dtype.is_integral or self.dtype == bool_)
    ):
        raise OperatorError("Integers to negative integer powers are not allowed.", argument="exponent")


def _check_approximate(*_: Any, approximate: str = "none") -> None:
    if approximate not in ("none", "tanh"):
        raise OperatorError("approximate argument must be either none or tanh.", argument="approximate")


_CHECKS: Final[dict[str, Callable[..., None]]] = {
    "add": _check_alpha,
    "pow": _check_pow,
    "gelu": _check_approximate,
    "gelu_backward": _check_approximate,
}


def _heaviside(self: TensorMeta, values: TensorMeta) -> TensorMeta:
    if kind_of(self.dtype) == "c" or kind_of(values.dtype) == "c":
        raise OperatorError("heaviside is not yet implemented for complex tensors.")
    if self.dtype != values.dtype:
        raise DtypeError("heaviside is not yet implemented for tensors with different dtypes.")
    return elementwise(self, values)


def _frexp(self: TensorMeta) -> tuple[TensorMeta, TensorMeta]:
    if kind_of(self.dtype) != "f":
        raise DtypeError("torch.frexp() only supports floating-point dtypes")
    found = elementwise(self)
    return found, found.with_dtype(int32)


def _is_infinity(name: str) -> Callable[..., TensorMeta]:
    def rule(self: TensorMeta) -> TensorMeta:
        refuse(name, self.dtype)
        return preserve_format(self, bool_) if kind_of(self.dtype) in "bi" else elementwise(self).with_dtype(bool_)

    return rule


def _isin(
    elements: TensorMeta | Number,
    test_elements: TensorMeta | Number,
    *,
    assume_unique: bool = False,
    invert: bool = False,
) -> TensorMeta:
    for each in (elements, test_elements):
        if isinstance(each, TensorMeta) and kind_of(each.dtype) in "bc":
            raise OperatorError(f"Unsupported input type encountered for isin(): {each.dtype.name}")
    return contiguous(elements.shape if isinstance(elements, TensorMeta) else (), bool_)


def _angle_unit(name: str) -> Callable[..., TensorMeta]:
    def rule(self: TensorMeta) -> TensorMeta:
        refuse(name, self.dtype)
        return elementwise(self, 1.0, promotion=Promotion.INT_TO_FLOAT)

    return rule


def _div_mode(self: TensorMeta | Number, other: TensorMeta | Number, *, rounding_mode: str | None) -> TensorMeta:
    if rounding_mode is None:
        return elementwise(self, other, promotion=Promotion.INT_TO_FLOAT)
    if rounding_mode not in ("trunc", "floor"):
        raise OperatorError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'",
            argument="rounding_mode",
        )
    refuse_kinds(f"div_{rounding_mode}_cpu", "bc", result_type(self, other))
    return elementwise(self, other)


def _clamp(
    self: TensorMeta, min: TensorMeta | Number | None = None, max: TensorMeta | Number | None = None
) -> TensorMeta:
    bounds = [bound for bound in (min, max) if bound is not None]
    if not bounds:
        raise OperatorError("torch.clamp: At least one of 'min' or 'max' must not be None", argument="min")
    common = result_type(self, *bounds)
    refuse("clamp", common)
    numbers = [bound for bound in bounds if not isinstance(bound, TensorMeta)]
    # torch takes the greater or the smaller of two tensors for a single tensor as a bound.
    name = "clamp" if len(bounds) == 2 else "clamp_max" if min is None else "clamp_min"
    if numbers or len(bounds) == 2:
        refuse_kinds(f"{name}_scalar_cpu" if numbers else "clamp_cpu", "b", common)
    return _like_unary(self, *numbers) if len(numbers) == len(bounds) else elementwise(self, *bounds)


def _like_unary(self: TensorMeta, *numbers: Number) -> TensorMeta:
    """Describe a result to whose dtype ``numbers`` contribute, but not to its layout."""
    dtype = result_type(self, *numbers)
    return elementwise(self if self.dtype == dtype else preserve_format(self, dtype))


def _clamp_one(name: str) -> Callable[..., TensorMeta]:
    def rule(self: TensorMeta, bound: Number) -> TensorMeta:
        common = result_type(self, bound)
        refuse("clamp", common)
        refuse_kinds(f"{name}_scalar_cpu", "b", common)
        return _like_unary(self, bound)

    return rule


def _pow_scalar(self: TensorMeta, exponent: Number) -> TensorMeta:
    _check_pow(self, exponent)
    if exponent not in (0, 1):
        check_kernel("pow", result_type(self, exponent))
    return _like_unary(self, exponent)


def _scalar_pow(self: Number, exponent: TensorMeta) -> TensorMeta:
    common = result_type(self, exponent)
    if self != 1 or common == bool_:
        check_kernel("pow", common)
    return contiguous(exponent.shape, common)


def _sub(self: TensorMeta, other: TensorMeta | Number, alpha: Number = 1) -> TensorMeta:
    _check_subtraction(self, other)
    result = elementwise(self, other)
    _check_alpha(self, other, alpha)
    return result


def _rsub(self: TensorMeta, other: TensorMeta | Number, alpha: Number = 1) -> TensorMeta:
    _check_subtraction(self, other)
    result = elementwise(other, self)
    _check_alpha(self, other, alpha)
    return result


def _addcdiv(self: TensorMeta, tensor1: TensorMeta, tensor2: TensorMeta, *, value: Number = 1) -> TensorMeta:
    refuse("addcdiv", max(tensor1.dtype, tensor2.dtype, key=lambda dtype: "bifc".index(kind_of(dtype))))
    return elementwise(self, tensor1, tensor2)


def _self_first(name: str) -> Callable[..., TensorMeta]:
    def rule(grad_output: TensorMeta, self: TensorMeta, *options: Any) -> TensorMeta:
        found = elementwise(self, grad_output)
        check_kernel(name, found.dtype)
        return found

    return rule


def _leaky_relu_backward(
    grad_output: TensorMeta, self: TensorMeta, negative_slope: Number, self_is_result: bool
) -> TensorMeta:
    if self_is_result and not isinstance(negative_slope, complex) and negative_slope < 0:
        raise OperatorError(
            "In-place leakyReLu backward calculation is triggered with a negative slope which is not supported. This is "
            "caused by calling in-place forward function with a negative slope, please call out-of-place version instead.",
            argument="negative_slope",
        )
    found: TensorMeta = _self_first("leaky_relu_backward")(grad_output, self, negative_slope)
    return found


def _isinf(self: TensorMeta) -> TensorMeta:
    if kind_of(self.dtype) in "bi":
        return preserve_format(self, bool_)
    return elementwise(elementwise(self), 1, promotion=Promotion.TO_BOOL)


def _isfinite(self: TensorMeta) -> TensorMeta:
    if kind_of(self.dtype) in "bi":
        return preserve_format(self, bool_)
    return elementwise(elementwise(self, self, promotion=Promotion.TO_BOOL), _isinf(self))


def _where(condition: TensorMeta, self: TensorMeta | Number, other: TensorMeta | Number) -> TensorMeta:
    if condition.dtype not in (bool_, uint8):
        raise DtypeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype.name}",
            argument="condition",
        )
    return elementwise(self, other, unpromoted=(condition,))


def _lerp(self: TensorMeta, end: TensorMeta, weight: TensorMeta | Number) -> TensorMeta:
    for name, value in (("end", end), ("weight", weight)):
        if isinstance(value, TensorMeta) and value.dtype != self.dtype and (name == "end" or value.shape):
            raise DtypeError(
                f"expected dtype {c_name(self.dtype)} for `{name}` but got dtype {c_name(value.dtype)}", argument=name
            )
    refuse_kinds(f"lerp_kernel_{'tensor' if isinstance(weight, TensorMeta) else 'scalar'}", "bi", self.dtype)
    tensors = [value for value in (self, end, weight) if isinstance(value, TensorMeta)]
    return elementwise(*tensors)


def _masked_fill(self: TensorMeta, mask: TensorMeta, value: TensorMeta | Number) -> TensorMeta:
    if mask.dtype != bool_:
        raise DtypeError(
            f"masked_fill_ only supports boolean masks, but got mask with dtype {c_name(mask.dtype)}", argument="mask"
        )
    if isinstance(value, TensorMeta) and value.shape:
        raise OperatorError(
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor "
            f"with {len(value.shape)} dimension(s).",
            argument="value",
        )
    if not isinstance(value, TensorMeta):
        check_fits(value, self.dtype, "value")
    shape = broadcast_shapes(self.shape, mask.shape, argument="mask")
    return contiguous(shape, self.dtype)


def _elu_backward(
    grad_output: TensorMeta,
    alpha: Number,
    scale: Number,
    input_scale: Number,
    is_result: bool,
    self_or_result: TensorMeta,
) -> TensorMeta:
    if is_result and not isinstance(alpha, complex) and alpha < 0:
        raise OperatorError(
            "In-place elu backward calculation is triggered with a negative slope which is not supported. This is caused by "
            "calling in-place forward function with a negative slope, please call out-of-place version instead.",
            argument="alpha",
        )
    found = elementwise(grad_output, self_or_result)
    check_kernel("elu_backward", found.dtype)
    return found
