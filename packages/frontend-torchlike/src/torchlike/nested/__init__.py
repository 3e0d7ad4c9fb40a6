"""Batches of tensors that differ in the size of one dimension, in the layout jagged (source: ``torch.nested``)."""

from __future__ import annotations

from .construction import as_nested_tensor, masked_select, narrow, nested_tensor, nested_tensor_from_jagged
from .padding import to_padded_tensor

from . import kernels, methods  # isort: skip  # noqa: F401  # operators and methods, which need all of the above

__all__ = [
    "as_nested_tensor",
    "masked_select",
    "narrow",
    "nested_tensor",
    "nested_tensor_from_jagged",
    "to_padded_tensor",
]
