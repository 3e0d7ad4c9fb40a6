"""Derivative formulas of joins and rearrangements; see ``dispatch_aten.derivatives``."""

from __future__ import annotations

from typing import Final

FORMULAS: Final = {
    "cat": {"tensors": "cat_gradient(grad, tensors_sizes, dim)"},
    "flip": {"self": "flip(grad, dims)"},
    "repeat": {"self": "repeat_gradient(grad, self_sizes, repeats)"},
    "roll": {"self": "roll(grad, negate(shifts), dims)"},
    "stack": {"tensors": "unbind(grad, dim)"},
}
