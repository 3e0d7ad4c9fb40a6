"""Functions that make tensors: of sizes, numbers, nested lists, and data of other libraries."""

from .factories import as_tensor, tensor

__all__ = ["as_tensor", "tensor"]
