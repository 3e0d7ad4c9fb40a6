"""Dropout."""

from __future__ import annotations

from ...functions import FUNCTIONS
from ...tensors import Tensor


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set elements to zero with probability ``p`` while training, and scale the others by ``1 / (1 - p)``."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    return FUNCTIONS["dropout_" if inplace else "dropout"](input, p, training)
