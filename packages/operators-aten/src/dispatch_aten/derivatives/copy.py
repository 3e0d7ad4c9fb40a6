"""Derivative formulas of copies; see ``dispatch_aten.derivatives``."""

from __future__ import annotations

from typing import Final

FORMULAS: Final = {
    "_to_copy": {"self": "to_device(grad, self_device)"},
    "clone": {"self": "grad"},
    "copy": {"self": "zeros_like(grad)", "src": "to_device(grad, src_device)"},
    "fill.Scalar": {"self": "zeros_like(grad)"},
    "fill.Tensor": {"self": "zeros_like(grad)", "value": "sum(grad)"},
    "zero_": {"self": "zeros_like(grad)"},
    "tril": {"self": "tril(grad, diagonal)"},
    "triu": {"self": "triu(grad, diagonal)"},
}
