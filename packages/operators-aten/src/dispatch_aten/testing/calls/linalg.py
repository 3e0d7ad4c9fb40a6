"""Right calls of the operators of ``operators.linalg``: names, and a function that draws their arguments."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from dispatch_core import ops

from ..drawing import CallRow, Draw, call


def _factor(r: Draw) -> tuple[Any, ...]:
    return tuple(ops.aten.linalg_lu_factor(r.spd()))


CALLS: Final[tuple[CallRow, ...]] = (
    call("linalg_eigh _linalg_eigh linalg_eig _linalg_eigvals linalg_eigvals", lambda r: (r.spd(),)),
    call("linalg_qr qr linalg_svd svd geqrf linalg_ldl_factor_ex", lambda r: (r.f(4, 3)[:3],)),
    call("_linalg_svd", lambda r: (r.f(4, 3), True, True)),
    call("linalg_ldl_solve", lambda r: (*ops.aten.linalg_ldl_factor(r.spd()), r.f(3, 2))),
    call("norm_except_dim", lambda r: (r.f(4, 3), 2, 1)),
    call("linalg_vecdot cross linalg_cross", lambda r: (r.f(2, 3), r.f(2, 3))),
    call("linalg_multi_dot", lambda r: ([r.f(2, 3), r.f(3, 4), r.f(4, 2)],)),
    call("linalg_matmul", lambda r: (r.f(2, 3), r.f(3, 4))),
    call(
        "det linalg_det logdet slogdet linalg_slogdet inverse linalg_inv linalg_inv_ex matrix_exp "
        "linalg_matrix_exp cholesky linalg_cholesky linalg_cholesky_ex linalg_eigvalsh linalg_lu "
        "linalg_lu_factor linalg_lu_factor_ex _lu_with_info linalg_ldl_factor _linalg_det _linalg_slogdet "
        "linalg_cond linalg_svdvals linalg_matrix_norm.str_ord linalg_norm nuclear_norm "
        "linalg_pinv.atol_rtol_float linalg_pinv.atol_rtol_tensor linalg_matrix_rank.atol_rtol_float "
        "linalg_matrix_rank.atol_rtol_tensor pinverse cholesky_inverse",
        lambda r: (r.spd(),),
    ),
    call("linalg_matrix_rank linalg_pinv", lambda r: (r.spd(), 1e-9)),
    call("linalg_matrix_rank.tol_tensor linalg_pinv.rcond_tensor", lambda r: (r.spd(), np.array(1e-9))),
    call("linalg_matrix_norm", lambda r: (r.f(3, 4), 1)),
    call("linalg_norm.ord_str linalg_cond.p_str", lambda r: (r.spd(), "fro")),
    call("frobenius_norm.dim nuclear_norm.dim", lambda r: (r.f(2, 3, 4), [0, 2])),
    call("matrix_power linalg_matrix_power", lambda r: (r.spd(), 3)),
    call("cholesky_solve", lambda r: (r.f(3, 2), np.linalg.cholesky(r.spd()))),
    call("linalg_solve linalg_solve_ex _linalg_solve_ex linalg_lstsq", lambda r: (r.spd(), r.f(3, 2))),
    call("linalg_solve_triangular", lambda r: (r.spd(), r.f(3, 2)), upper=True),
    call("triangular_solve", lambda r: (r.f(3, 2), r.spd())),
    call("linalg_lu_solve", lambda r: (*_factor(r), r.f(3, 2))),
    call("lu_solve", lambda r: (r.f(3, 2), *_factor(r))),
    call("lu_unpack", _factor),
    call("linalg_householder_product orgqr", lambda r: r.reflectors()),
    call("ormqr", lambda r: (*r.reflectors(), r.f(3, 2))),
    call("linalg_tensorinv", lambda r: (r.f(4, 6, 8, 3),)),
    call("linalg_tensorsolve", lambda r: (r.f(2, 3, 6), r.f(2, 3))),
    call("linalg_vander vander", lambda r: (r.f(4),)),
    call("linalg_diagonal", lambda r: (r.f(2, 3, 4),)),
)
