"""Derivative formulas of products of matrices; see ``dispatch_aten.derivatives``."""

from __future__ import annotations

from typing import Final

FORMULAS: Final = {
    "addmm": {
        "self": "maybe_multiply(grad, beta)",
        "mat1": "maybe_multiply(first_factor_gradient(grad, mat2, mat1_is_turned), alpha)",
        "mat2": "maybe_multiply(second_factor_gradient(grad, mat1, mat2_is_turned), alpha)",
    },
    "baddbmm": {
        "self": "maybe_multiply(grad, beta)",
        "batch1": "maybe_multiply(bmm(grad, transpose(batch2, 1, 2)), alpha)",
        "batch2": "maybe_multiply(bmm(transpose(batch1, 1, 2), grad), alpha)",
    },
    "bmm": {"self": "bmm(grad, transpose(mat2, 1, 2))", "mat2": "bmm(transpose(self, 1, 2), grad)"},
    "dot": {"self": "mul(grad, tensor)", "tensor": "mul(grad, self)"},
    "mm": {
        "self": "first_factor_gradient(grad, mat2, self_is_turned)",
        "mat2": "second_factor_gradient(grad, self, mat2_is_turned)",
    },
    "mv": {"self": "outer(grad, vec)", "vec": "mv(t(self), grad)"},
}
