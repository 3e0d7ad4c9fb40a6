"""Derivative formulas of linear algebra; see ``dispatch_aten.derivatives``."""

from __future__ import annotations

from typing import Final

FORMULAS: Final[dict[str, dict[str, str]]] = {
    "_linalg_det": {"A": "det_backward(grads[0], result0, A)"},
    "_linalg_eigh": {"A": "eigh_backward(grads[0], grads[1], result0, result1)"},
    "_linalg_eigvals": {"self": "eigvals_backward(grad, self)"},
    "_linalg_slogdet": {"A": "slogdet_backward(grads[0], grads[1], result0, A)"},
    "_linalg_solve_ex": {
        "A": "solve_backward_matrix(grads[0], result0, A, left, B_sizes)",
        "B": "solve_backward_sides(grads[0], A, left, B_sizes)",
    },
    "_linalg_svd": {"A": "svd_backward(grads[0], grads[1], grads[2], result0, result1, result2, compute_uv)"},
    "cholesky_inverse": {"self": "cholesky_inverse_backward(grad, self, upper, result)"},
    "cholesky_solve": {
        "self": "conjugate(cholesky_solve(conjugate(grad), input2, upper))",
        "input2": "cholesky_solve_backward(grad, input2, result, upper)",
    },
    "linalg_cholesky_ex": {"self": "cholesky_backward(grads[0], result0, upper)"},
    "linalg_cross": {"self": "linalg_cross(other, grad, dim=dim)", "other": "linalg_cross(grad, self, dim=dim)"},
    "linalg_eig": {"self": "eig_backward(grads[0], grads[1], result0, result1)"},
    "linalg_eigvals": {"self": "eigvals_backward(grad, self)"},
    "linalg_eigvalsh": {"self": "eigvalsh_backward(grad, self, UPLO)"},
    "linalg_inv_ex": {"A": "inv_backward(grads[0], result0)"},
    "linalg_lstsq": {
        "self": "lstsq_backward_matrix(grads[0], grads[1], self, b, result0)",
        "b": "lstsq_backward_sides(grads[0], grads[1], self, b, result0)",
    },
    "linalg_lu_factor_ex": {"A": "lu_factor_backward(grads[0], result0, result1, pivot)"},
    "linalg_matrix_exp": {"self": "matrix_exp_backward(grad, self)"},
    "linalg_pinv.atol_rtol_tensor": {"self": "pinv_backward(grad, result, self)"},
    "linalg_qr": {"A": "qr_backward(grads[0], grads[1], result0, result1, mode, A_sizes)"},
    "linalg_solve_triangular": {
        "self": "solve_triangular_backward_matrix(grad, result, self, upper, left, unitriangular)",
        "B": "solve_triangular_backward_sides(grad, self, upper, left, unitriangular)",
    },
    "linalg_svdvals": {"A": "svdvals_backward(grad, A)"},
    "lu_unpack": {"LU_data": "lu_unpack_backward(grads[1], grads[2], LU_data_sizes)"},
}

DIFFERENTIABLE_OUTPUTS: Final[dict[str, tuple[bool, ...]]] = {
    "_linalg_det": (True, False, False),
    "_linalg_slogdet": (True, True, False, False),
    "_linalg_solve_ex": (True, False, False, False),
    "linalg_cholesky_ex": (True, False),
    "linalg_inv_ex": (True, False),
    "linalg_lstsq": (True, True, False, False),
    "linalg_lu_factor_ex": (True, False, False),
    "lu_unpack": (False, True, True),
}

NOT_DIFFERENTIABLE: Final = frozenset({"geqrf", "linalg_ldl_factor_ex", "linalg_ldl_solve"})

TANGENTS: Final[dict[str, dict[str, str]]] = {
    "_linalg_eigh": {
        "result0": "eigh_values_tangent(A_t, result1)",
        "result1": "eigh_vectors_tangent(A_t, result0, result1)",
    },
    "linalg_cholesky_ex": {"result0": "cholesky_tangent(self_t, result0, upper)"},
}
