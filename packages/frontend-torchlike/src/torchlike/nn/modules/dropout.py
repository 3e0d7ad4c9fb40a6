"""Dropout as modules."""

from __future__ import annotations

from ...tensors import Tensor
from .. import functional as F  # noqa: N812  # torch's own abbreviation
from .module import Module


class Dropout(Module):
    """Set elements to zero with probability ``p`` while training, and scale the others up."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"
