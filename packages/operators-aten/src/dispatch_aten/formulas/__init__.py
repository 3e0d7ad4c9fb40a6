"""Functions that derivative formulas use, written in aten operators only, so that gradients have gradients.

What is common to several formulas, or too long for an expression, is here; the formulas are in ``derivatives``.
"""

from __future__ import annotations

from ._shared import count_of, inverse_permutation, max_one, moved, negated, one_minus, scaled, spread
from .elementwise import (
    clamp_gradient,
    clamp_max_gradient,
    clamp_min_gradient,
    div_mode_gradient,
    div_mode_other_gradient,
    elu_second,
    floor_of_ratio,
    gelu_second,
    halved_where,
    pow_exponent_gradient,
    pow_gradient,
    softplus_second,
)
from .indexing import (
    cat_gradient,
    embedding_second,
    index_add_source_gradient,
    masked_select_gradient,
    masked_source_gradient,
    repeat_gradient,
    take_gradient,
)
from .losses import (
    bce_with_logits_gradient,
    bce_with_logits_target_gradient,
    mse_factor,
    mse_slope,
    native_dropout_gradient,
    softmax_second,
)
from .reductions import (
    aminmax_gradient,
    cumprod_gradient,
    extremum_gradient,
    logsumexp_gradient,
    norm_gradient,
    prod_dim_gradient,
    prod_gradient,
    reversed_cumsum,
    std_gradient,
    var_gradient,
    var_mean_gradient,
)
from .views import as_strided_gradient, slice_gradient, split_gradient, unbind_gradient

__all__ = [
    "aminmax_gradient",
    "as_strided_gradient",
    "bce_with_logits_gradient",
    "bce_with_logits_target_gradient",
    "cat_gradient",
    "clamp_gradient",
    "clamp_max_gradient",
    "clamp_min_gradient",
    "count_of",
    "cumprod_gradient",
    "div_mode_gradient",
    "div_mode_other_gradient",
    "elu_second",
    "embedding_second",
    "extremum_gradient",
    "floor_of_ratio",
    "gelu_second",
    "halved_where",
    "index_add_source_gradient",
    "inverse_permutation",
    "logsumexp_gradient",
    "masked_select_gradient",
    "masked_source_gradient",
    "max_one",
    "moved",
    "mse_factor",
    "mse_slope",
    "native_dropout_gradient",
    "negated",
    "norm_gradient",
    "one_minus",
    "pow_exponent_gradient",
    "pow_gradient",
    "prod_dim_gradient",
    "prod_gradient",
    "repeat_gradient",
    "reversed_cumsum",
    "scaled",
    "slice_gradient",
    "softmax_second",
    "softplus_second",
    "split_gradient",
    "spread",
    "std_gradient",
    "take_gradient",
    "unbind_gradient",
    "var_gradient",
    "var_mean_gradient",
]
