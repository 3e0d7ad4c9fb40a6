"""Changes of shape as modules."""

from __future__ import annotations

from ...functions import FUNCTIONS
from ...tensors import Tensor
from .module import Module


class Flatten(Module):
    """Join the dimensions from ``start_dim`` to ``end_dim``."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        return FUNCTIONS["flatten"](input, self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"
