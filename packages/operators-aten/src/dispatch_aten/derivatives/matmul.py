"""Derivative formulas of products of matrices; see ``dispatch_aten.derivatives``."""

from __future__ import annotations

from typing import Final

FORMULAS: Final = {
    "addmm": {
        "self": "maybe_multiply(grad, beta)",
        "mat1": "maybe_multiply(mm(grad, t(mat2)), alpha)",
        "mat2": "maybe_multiply(mm(t(mat1), grad), alpha)",
    },
    "baddbmm": {
        "self": "maybe_multiply(grad, beta)",
        "batch1": "maybe_multiply(bmm(grad, transpose(batch2, 1, 2)), alpha)",
        "batch2": "maybe_multiply(bmm(transpose(batch1, 1, 2), grad), alpha)",
    },
    "bmm": {"self": "bmm(grad, transpose(mat2, 1, 2))", "mat2": "bmm(transpose(self, 1, 2), grad)"},
    "dot": {"self": "mul(grad, tensor)", "tensor": "mul(grad, self)"},
    "mm": {"self": "mm(grad, t(mat2))", "mat2": "mm(t(self), grad)"},
    "mv": {"self": "outer(grad, vec)", "vec": "mv(t(self), grad)"},
}
