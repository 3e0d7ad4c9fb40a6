"""Norms and distances."""

from __future__ import annotations

from typing import Any

from ...functions.operator_functions import FUNCTIONS
from ...tensors.arguments import check_tensor
from ...tensors.tensor import Tensor

bilinear = FUNCTIONS["bilinear"]
cosine_similarity = FUNCTIONS["cosine_similarity"]
pairwise_distance = FUNCTIONS["pairwise_distance"]
pdist = FUNCTIONS["pdist"]


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """Divide by the norm along ``dim``."""
    check_tensor(input, "normalize")
    norm: Any = FUNCTIONS["norm"](input, p, dim, keepdim=True).clamp_min(eps)
    return FUNCTIONS["div"](input, norm.expand_as(input), out=out)
