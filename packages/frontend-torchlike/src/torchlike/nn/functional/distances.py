"""Norms and distances."""

from __future__ import annotations

from typing import Any

from ...arguments import check_tensor
from ...functions import FUNCTIONS
from ...tensors import Tensor


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """Divide by the norm along ``dim``."""
    check_tensor(input, "normalize")
    norm: Any = FUNCTIONS["norm"](input, p, dim, keepdim=True).clamp_min(eps)
    return input / norm.expand_as(input)
