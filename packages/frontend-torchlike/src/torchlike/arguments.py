"""Arguments of functions that no operator checks."""

from __future__ import annotations

from typing import Any

from .tensors import Tensor

__all__ = ["check_tensor", "check_tensors"]


def check_tensor(value: Any, function: str, name: str = "input") -> None:
    """Raise ``TypeError``, in torch's words, for what is no tensor."""
    if not isinstance(value, Tensor):
        raise TypeError(f"{function}(): argument '{name}' must be Tensor, not {type(value).__name__}")


def check_tensors(values: Any, function: str, name: str) -> None:
    """Raise ``TypeError``, in torch's words, for a list with elements that are no tensors."""
    for position, value in enumerate(values):
        if not isinstance(value, Tensor):
            raise TypeError(
                f"{function}(): argument '{name}' must be tuple of Tensors, but found element of type "
                f"{type(value).__name__} at pos {position}"
            )
