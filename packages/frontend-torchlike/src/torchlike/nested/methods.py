"""The methods of nested tensors that need padding and operators: importing this module completes the class."""

from __future__ import annotations

from .indexing import read_item
from .padding import to_padded_tensor
from .tensor import NestedTensor

__all__: list[str] = []

NestedTensor.__getitem__ = read_item  # type: ignore[method-assign,assignment]  # of a narrower class than any tensor's
NestedTensor.to_padded_tensor = to_padded_tensor  # type: ignore[attr-defined]  # stands in no class of stubs
