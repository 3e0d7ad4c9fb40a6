"""Embeddings and one-hot vectors."""

from __future__ import annotations

from ...functions import FUNCTIONAL, FUNCTIONS
from ...tensors import Tensor

one_hot = FUNCTIONAL["one_hot"]


def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None) -> Tensor:
    """Return the rows of ``weight`` that ``input`` names."""
    return FUNCTIONS["embedding"](weight, input, -1 if padding_idx is None else padding_idx)
