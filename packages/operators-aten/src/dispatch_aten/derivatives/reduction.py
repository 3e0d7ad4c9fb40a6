"""Derivative formulas of reductions; see ``dispatch_aten.derivatives``."""

from __future__ import annotations

from typing import Final

FORMULAS: Final = {
    "amax": {"self": "extremum_gradient(grad, self, result, dim, keepdim)"},
    "amin": {"self": "extremum_gradient(grad, self, result, dim, keepdim)"},
    "aminmax": {"self": "aminmax_gradient(grads, self, result0, result1, dim, keepdim)"},
    "cummax": {"self": "cummaxmin_backward(grad, self, result1, dim)"},
    "cummin": {"self": "cummaxmin_backward(grad, self, result1, dim)"},
    "logcumsumexp": {"self": "logcumsumexp_gradient(grad, self, result, dim)"},
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
    "max.dim": {"self": "value_selecting_reduction_backward(grad, dim, result1, self_sizes, keepdim)"},
    "min.dim": {"self": "value_selecting_reduction_backward(grad, dim, result1, self_sizes, keepdim)"},
}

DIFFERENTIABLE_OUTPUTS: Final = dict.fromkeys(("cummax", "cummin", "max.dim", "min.dim"), (True, False))

NOT_DIFFERENTIABLE: Final = frozenset({"hash_tensor"})
