"""Changes of shape as modules."""

from __future__ import annotations

__name__ = "torchlike.nn.modules.flatten"  # see Note [Public paths]

from collections.abc import Sequence
from typing import Any

from ....functions.operator_functions import FUNCTIONS
from ....tensors.tensor import Tensor
from ..module import Module


class Flatten(Module):
    """Join the dimensions from ``start_dim`` to ``end_dim``."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        return FUNCTIONS["flatten"](input, self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Split a dimension into several (source: ``torch.nn.Unflatten``).

    >>> Unflatten(1, (2, 3))
    Unflatten(dim=1, unflattened_size=(2, 3))
    """

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        _check_sizes(unflattened_size)
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        return FUNCTIONS["unflatten"](input, self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


def _check_sizes(sizes: Any) -> None:
    if not isinstance(sizes, (tuple, list)):
        raise TypeError(f"unflattened_size must be a tuple of ints, but found type {type(sizes).__name__}")
    for place, size in enumerate(sizes):
        if not isinstance(size, int):
            raise TypeError(
                f"unflattened_size must be tuple of ints, but found element of type {type(size).__name__} at pos {place}"
            )
