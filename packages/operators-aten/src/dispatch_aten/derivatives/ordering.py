"""Derivative formulas of sorts and order statistics; see ``dispatch_aten.derivatives``."""

from __future__ import annotations

from typing import Final

_SELECTED: Final = "value_selecting_reduction_backward(grad, dim, result1, self_sizes, {})"

FORMULAS: Final = {
    **{name: {"self": _SELECTED.format("True")} for name in ("sort", "sort.stable", "topk")},
    **{name: {"self": _SELECTED.format("keepdim")} for name in ("kthvalue", "median.dim", "mode", "nanmedian.dim")},
    "median": {"self": "extremum_of_all_gradient(grad, self, result)"},
    "nanmedian": {"self": "extremum_of_all_gradient(grad, self, result)"},
}

DIFFERENTIABLE_OUTPUTS: Final = {name: (True, False) for name in FORMULAS if name not in ("median", "nanmedian")}

NOT_DIFFERENTIABLE: Final = frozenset(
    ("searchsorted.Tensor searchsorted.Scalar bucketize.Tensor bucketize.Scalar histc bincount").split()
)
