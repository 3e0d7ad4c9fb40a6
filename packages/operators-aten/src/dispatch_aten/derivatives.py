"""Derivative formulas as data; the engine that runs them belongs to the frontend.

``DERIVATIVES`` maps an operator overload to a ``Formula``: for each differentiable argument an expression, Python source,
for its gradient. Names that an expression may use:

* ``grad``: the gradient of the first result, never None. Operators with several differentiable results use ``grads``, a
  tuple with None for results without a gradient (``Formula.uses_grads``);
* the operator's arguments, by name, defaults filled in;
* ``result``, or ``result0``, ``result1`` … where there are several;
* of an argument ``x`` without saving it: ``x_sizes`` (a tuple), ``x_strides``, ``x_storage_offset``, ``x_dim`` (how many
  dimensions), ``x_numel``, ``x_dtype``, ``x_device``. For a list of tensors ``xs``: ``xs_sizes``, a list of tuples;
* ``FUNCTIONS`` of ``dispatch_aten.gradients``, and else any aten operator by name, overloads resolved by the arguments.

An expression is written as for real numbers. Where the gradient of the result is complex, the engine conjugates it, and the
value of the expression: that is torch's gradient, ``grad`` times the conjugate of the derivative, for every function with a
complex derivative. Functions with real results from complex numbers (``abs``, ``norm``, ``var``) have theirs as it is.

The engine computes a gradient only if it is needed, then sums it to the argument's shape and converts it to the
argument's dtype; so an expression need not undo broadcasting or promotion. The gradient of a list is a list.

An in-place overload without an entry of its own takes its functional overload's formula: ``result`` is then the tensor
written to, and an expression that names ``self`` itself (not ``self_sizes`` and its kind) means the value before the
call, which the engine has to keep or to refuse. ``functional_of`` in ``variants`` returns the functional overload.

>>> DERIVATIVES["mul.Tensor"].gradients["other"]
'mul(grad, self)'
>>> sorted(names_used("select_backward(grad, self_sizes, dim, index)"))
['dim', 'grad', 'index', 'select_backward', 'self_sizes']
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DERIVATIVES", "METADATA_SUFFIXES", "NOT_DIFFERENTIABLE", "Formula", "names_used"]

METADATA_SUFFIXES: Final = ("_sizes", "_strides", "_storage_offset", "_dim", "_numel", "_dtype", "_device")
"""What may follow an argument's name to read a property without saving the tensor."""


@dataclass(frozen=True, slots=True)
class Formula:
    """The derivative of one operator overload.

    ``gradients`` maps an argument's name to the expression of its gradient. ``differentiable_outputs`` says for each
    result whether a gradient can flow into it; None means into all of them.
    """

    gradients: Mapping[str, str]
    differentiable_outputs: tuple[bool, ...] | None = None

    @property
    def uses_grads(self) -> bool:
        """Whether the expressions take the gradients of all results, as ``grads``."""
        return any("grads" in names_used(expression) for expression in self.gradients.values())


@cache
def names_used(expression: str) -> frozenset[str]:
    """Return the names that an expression reads, functions included."""
    return frozenset(node.id for node in ast.walk(ast.parse(expression, mode="eval")) if isinstance(node, ast.Name))


_ELEMENTWISE: Final = {
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

_ACTIVATIONS: Final = {
    "elu": {"self": "elu_backward(grad, alpha, scale, input_scale, False, self)"},
    "elu_backward": {
        "grad_output": "elu_backward(grad, alpha, scale, input_scale, is_result, self_or_result)",
        "self_or_result": (
            "elu_double_backward(mul(grad, grad_output), alpha, scale, input_scale, is_result, self_or_result)"
        ),
    },
    "gelu": {"self": "gelu_backward(grad, self, approximate=approximate)"},
    "gelu_backward": {
        "grad_output": "gelu_backward(grad, self, approximate=approximate)",
        "self": "gelu_double_backward(mul(grad, grad_output), self, approximate)",
    },
    "leaky_relu": {"self": "leaky_relu_backward(grad, self, negative_slope, False)"},
    "leaky_relu_backward": {
        "grad_output": "leaky_relu_backward(grad, self, negative_slope, self_is_result)",
        "self": "zeros_like(grad)",
    },
    "relu": {"self": "threshold_backward(grad, result, 0)"},
    "sigmoid": {"self": "sigmoid_backward(grad, result)"},
    "sigmoid_backward": {
        "grad_output": "sigmoid_backward(grad, output)",
        "output": "mul(mul(grad, grad_output), one_minus(mul(output, 2)))",
    },
    "silu": {"self": "silu_backward(grad, self)"},
    "softplus": {"self": "softplus_backward(grad, self, beta, threshold)"},
    "softplus_backward": {
        "grad_output": "softplus_backward(grad, self, beta, threshold)",
        "self": "softplus_double_backward(mul(grad, grad_output), self, beta, threshold)",
    },
    "tanh_backward": {
        "grad_output": "tanh_backward(grad, output)",
        "output": "mul(mul(grad, grad_output), mul(output, -2))",
    },
    "threshold": {"self": "threshold_backward(grad, self, threshold)"},
    "threshold_backward": {"grad_output": "threshold_backward(grad, self, threshold)", "self": "zeros_like(grad)"},
}

_REDUCTIONS: Final = {
    "amax": {"self": "extremum_gradient(grad, self, result, dim, keepdim)"},
    "amin": {"self": "extremum_gradient(grad, self, result, dim, keepdim)"},
    "aminmax": {"self": "aminmax_gradient(grads, self, result0, result1, dim, keepdim)"},
    "cumprod": {"self": "cumprod_gradient(grad, self, result, dim)"},
    "cumsum": {"self": "reversed_cumsum(grad, dim)"},
    "linalg_vector_norm": {"self": "norm_gradient(grad, self, ord, result, dim, keepdim)"},
    "logsumexp": {"self": "logsumexp_gradient(grad, self, result, dim, keepdim)"},
    "max": {"self": "extremum_of_all_gradient(grad, self, result)"},
    "mean": {"self": "div(expand(grad, self_sizes), max_one(self_numel))"},
    "mean.dim": {"self": "div(spread(grad, self_sizes, dim, keepdim), max_one(count_of(self_sizes, dim)))"},
    "min": {"self": "extremum_of_all_gradient(grad, self, result)"},
    "norm.Scalar": {"self": "norm_gradient(grad, self, p, result, None, False)"},
    "norm.ScalarOpt_dim": {"self": "norm_gradient(grad, self, p, result, dim, keepdim)"},
    "norm.ScalarOpt_dim_dtype": {"self": "norm_gradient(grad, self, p, result, dim, keepdim)"},
    "norm.ScalarOpt_dtype": {"self": "norm_gradient(grad, self, p, result, None, False)"},
    "prod": {"self": "prod_gradient(grad, self)"},
    "prod.dim_int": {"self": "prod_dim_gradient(grad, self, dim, keepdim)"},
    "std.correction": {"self": "std_gradient(grad, self, result, dim, correction, keepdim)"},
    "sum": {"self": "expand(grad, self_sizes)"},
    "sum.dim_IntList": {"self": "spread(grad, self_sizes, dim, keepdim)"},
    "var.correction": {"self": "var_gradient(grad, self, dim, correction, keepdim)"},
    "var_mean.correction": {"self": "var_mean_gradient(grads, self, dim, correction, keepdim)"},
}

_PRODUCTS: Final = {
    "addmm": {
        "self": "maybe_multiply(grad, beta)",
        "mat1": "maybe_multiply(mm(grad, t(mat2)), alpha)",
        "mat2": "maybe_multiply(mm(t(mat1), grad), alpha)",
    },
    "baddbmm": {
        "self": "maybe_multiply(grad, beta)",
        "batch1": "maybe_multiply(bmm(grad, transpose(batch2, 1, 2)), alpha)",
        "batch2": "maybe_multiply(bmm(transpose(batch1, 1, 2), grad), alpha)",
    },
    "bmm": {"self": "bmm(grad, transpose(mat2, 1, 2))", "mat2": "bmm(transpose(self, 1, 2), grad)"},
    "dot": {"self": "mul(grad, tensor)", "tensor": "mul(grad, self)"},
    "mm": {"self": "mm(grad, t(mat2))", "mat2": "mm(t(self), grad)"},
    "mv": {"self": "outer(grad, vec)", "vec": "mv(t(self), grad)"},
}

_LOSSES: Final = {
    "_log_softmax": {"self": "_log_softmax_backward_data(grad, result, dim, self_dtype)"},
    "_log_softmax_backward_data": {
        "grad_output": "sub(grad, sum(mul(grad, exp(output)), [dim], True))",
        "output": "neg(mul(mul(grad, exp(output)), sum(grad_output, [dim], True)))",
    },
    "_softmax": {"self": "_softmax_backward_data(grad, result, dim, self_dtype)"},
    "_softmax_backward_data": {
        "grad_output": "_softmax_backward_data(grad, output, dim, input_dtype)",
        "output": "softmax_double_backward(grad, grad_output, output, dim)",
    },
    "binary_cross_entropy_with_logits": {
        "self": "bce_with_logits_gradient(grad, self, target, weight, pos_weight, reduction)",
        "target": "bce_with_logits_target_gradient(grad, self, weight, pos_weight, reduction)",
    },
    "mse_loss": {
        "self": "mse_loss_backward(grad, self, target, reduction)",
        "target": "mse_loss_backward(grad, target, self, reduction)",
    },
    "mse_loss_backward": {
        "grad_output": "mul(grad, mse_slope(grad, self, target, reduction))",
        "self": "mul(mul(grad, grad_output), mse_factor(grad, reduction))",
        "target": "mul(mul(grad, grad_output), -mse_factor(grad, reduction))",
    },
    "nll_loss_backward": {
        "grad_output": "nll_loss(grad, target, weight, reduction, ignore_index)",
        "self": "zeros_like(grad)",
    },
}

_VIEWS: Final = {
    "_unsafe_view": {"self": "reshape(grad, self_sizes)"},
    "alias": {"self": "grad"},
    "as_strided": {
        "self": (
            "as_strided_gradient(grad, self_sizes, self_strides, self_storage_offset, size, stride, storage_offset)"
        )
    },
    "diagonal": {"self": "diagonal_backward(grad, self_sizes, offset, dim1, dim2)"},
    "diagonal_backward": {"grad_output": "diagonal(grad, offset, dim1, dim2)"},
    "expand": {"self": "grad"},
    "permute": {"self": "permute(grad, inverse_permutation(dims))"},
    "select.int": {"self": "select_backward(grad, self_sizes, dim, index)"},
    "select_backward": {"grad_output": "select(grad, dim, index)"},
    "slice.Tensor": {"self": "slice_gradient(grad, self_sizes, dim, start, end, step)"},
    "slice_backward": {"grad_output": "slice(grad, dim, start, end, step)"},
    "split.Tensor": {"self": "split_gradient(grads, self_sizes, split_size, dim)"},
    "split_with_sizes": {"self": "split_gradient(grads, self_sizes, split_sizes, dim)"},
    "squeeze": {"self": "reshape(grad, self_sizes)"},
    "squeeze.dim": {"self": "reshape(grad, self_sizes)"},
    "squeeze.dims": {"self": "reshape(grad, self_sizes)"},
    "t": {"self": "t(grad)"},
    "transpose.int": {"self": "transpose(grad, dim0, dim1)"},
    "unbind.int": {"self": "unbind_gradient(grads, dim)"},
    "unsqueeze": {"self": "squeeze(grad, dim)"},
    "view": {"self": "reshape(grad, self_sizes)"},
}

_COPIES: Final = {
    "_to_copy": {"self": "to_device(grad, self_device)"},
    "clone": {"self": "grad"},
    "copy": {"self": "zeros_like(grad)", "src": "to_device(grad, src_device)"},
    "fill.Scalar": {"self": "zeros_like(grad)"},
    "fill.Tensor": {"self": "zeros_like(grad)", "value": "sum(grad)"},
    "zero_": {"self": "zeros_like(grad)"},
    "tril": {"self": "tril(grad, diagonal)"},
    "triu": {"self": "triu(grad, diagonal)"},
}

_RANDOM: Final = {
    name: {"self": "zeros_like(grad)"}
    for name in (
        "bernoulli bernoulli.p bernoulli_.Tensor bernoulli_.float exponential_ normal_ random_ random_.from random_.to "
        "uniform_"
    ).split()
} | {"native_dropout_backward": {"grad_output": "native_dropout_backward(grad, mask, scale)"}}

_INDEXING: Final = {
    "diagonal_scatter": {
        "self": "diagonal_scatter(grad, new_zeros(grad, src_sizes), offset, dim1, dim2)",
        "src": "diagonal(grad, offset, dim1, dim2)",
    },
    "embedding": {
        "weight": "embedding_dense_backward(grad, indices, weight_sizes[0], padding_idx, scale_grad_by_freq)"
    },
    "embedding_dense_backward": {
        "grad_output": "embedding_double_backward(grad, indices, padding_idx, scale_grad_by_freq)"
    },
    "gather": {"self": "scatter_add(new_zeros(grad, self_sizes), dim, index, grad)"},
    "index.Tensor": {"self": "index_put(new_zeros(grad, self_sizes), indices, grad, True)"},
    "index_add": {
        "self": "grad",
        "source": "maybe_multiply(index_add_source_gradient(grad, dim, index, source_sizes), alpha)",
    },
    "index_put": {
        "self": "grad if accumulate else index_put(grad, indices, new_zeros(grad, values_sizes), False)",
        "values": "index(grad, indices)",
    },
    "index_select": {"self": "index_add(new_zeros(grad, self_sizes), dim, index, grad)"},
    "masked_scatter": {
        "self": "masked_fill(grad, mask, 0)",
        "source": "masked_source_gradient(grad, mask, source_sizes)",
    },
    "masked_select": {"self": "masked_select_gradient(grad, self_sizes, mask)"},
    "scatter.src": {"self": "scatter(grad, dim, index, 0)", "src": "gather(grad, dim, index)"},
    "scatter.value": {"self": "scatter(grad, dim, index, 0)"},
    "scatter_add": {"self": "grad", "src": "gather(grad, dim, index)"},
    "select_scatter": {
        "self": "select_scatter(grad, new_zeros(grad, src_sizes), dim, index)",
        "src": "select(grad, dim, index)",
    },
    "slice_scatter": {
        "self": "slice_scatter(grad, new_zeros(grad, src_sizes), dim, start, end, step)",
        "src": "slice(grad, dim, start, end, step)",
    },
    "take": {"self": "take_gradient(grad, self_sizes, index)"},
}

_LISTS: Final = {
    "cat": {"tensors": "cat_gradient(grad, tensors_sizes, dim)"},
    "flip": {"self": "flip(grad, dims)"},
    "repeat": {"self": "repeat_gradient(grad, self_sizes, repeats)"},
    "roll": {"self": "roll(grad, negate(shifts), dims)"},
    "stack": {"tensors": "unbind(grad, dim)"},
}

_SELECTED: Final = "value_selecting_reduction_backward(grad, dim, result1, self_sizes, {})"

_WITH_INDICES: Final = {
    "max.dim": {"self": _SELECTED.format("keepdim")},
    "min.dim": {"self": _SELECTED.format("keepdim")},
    "sort": {"self": _SELECTED.format("True")},
    "sort.stable": {"self": _SELECTED.format("True")},
    "topk": {"self": _SELECTED.format("True")},
    "native_dropout": {"input": "native_dropout_gradient(grad, result1, p, train)"},
    "nll_loss_forward": {"self": "nll_loss_backward(grad, self, target, weight, reduction, ignore_index, result1)"},
}


def _collect() -> dict[str, Formula]:
    tables = (_ELEMENTWISE, _ACTIVATIONS, _REDUCTIONS, _PRODUCTS, _LOSSES, _VIEWS, _COPIES, _RANDOM, _INDEXING, _LISTS)
    formulas = {name: Formula(MappingProxyType(gradients)) for table in tables for name, gradients in table.items()}
    for name, gradients in _WITH_INDICES.items():
        formulas[name] = Formula(MappingProxyType(gradients), (True, False))
    return formulas


DERIVATIVES: Final[Mapping[str, Formula]] = MappingProxyType(_collect())
"""The derivative formula of each differentiable overload that is no implicit composite."""

NOT_DIFFERENTIABLE: Final = frozenset(
    """
    greater.Tensor greater.Scalar greater_equal.Tensor greater_equal.Scalar less.Tensor less.Scalar less_equal.Tensor
    less_equal.Scalar not_equal.Tensor not_equal.Scalar
    eq.Tensor eq.Scalar ne.Tensor ne.Scalar lt.Tensor lt.Scalar le.Tensor le.Scalar gt.Tensor gt.Scalar ge.Tensor ge.Scalar
    isnan isinf logical_and logical_or logical_xor logical_not
    bitwise_and.Tensor bitwise_and.Scalar bitwise_and.Scalar_Tensor bitwise_or.Tensor bitwise_or.Scalar
    bitwise_left_shift.Tensor bitwise_left_shift.Tensor_Scalar bitwise_left_shift.Scalar_Tensor
    bitwise_right_shift.Tensor bitwise_right_shift.Tensor_Scalar bitwise_right_shift.Scalar_Tensor
    bitwise_or.Scalar_Tensor bitwise_xor.Tensor bitwise_xor.Scalar bitwise_xor.Scalar_Tensor bitwise_not
    any any.dim any.dims all all.dim all.dims argmax argmin count_nonzero count_nonzero.dim_IntList nonzero equal allclose
    empty_like zeros_like ones_like full_like new_empty new_empty_strided new_full new_zeros new_ones
    rand_like rand_like.generator randn_like randn_like.generator randint_like randint_like.generator
    randint_like.low_dtype randint_like.low_generator_dtype detach _local_scalar_dense resize_
    """.split()
)
"""Overloads whose results never require a gradient."""
