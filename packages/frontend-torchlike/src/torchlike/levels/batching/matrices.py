"""Linear algebra, whose operators take batches of matrices themselves."""

from __future__ import annotations

from typing import Any, Final

from dispatch_aten.errors import OperatorError

from .calls import Batch, BatchedCall, Rule, align, aten, rank_of, with_batch

_MATRIX: Final = 2


def _check_matrix(call: BatchedCall, name: str) -> None:
    if call.rank(name) < _MATRIX:
        raise OperatorError(
            f"The input tensor must have at least 2 dimensions, but has {call.rank(name)}", argument=name
        )


def leading(call: BatchedCall) -> Any:
    """Call an operator on matrices whose leading dimensions are the batch and the call's own."""
    names = tuple(call.tensors())
    _check_matrix(call, names[0])
    return call.run(**{name: call.with_batch(name) for name in names})


def _broadcast(*names: str) -> Rule:
    """Return the rule of an operator whose matrices broadcast in their leading dimensions."""

    def rule(call: BatchedCall) -> Any:
        for name in names:
            _check_matrix(call, name)
        rank = max(call.rank(name) for name in names)
        changed = {name: align(Batch(call.with_batch(name)), rank) for name in names}
        if "pivots" in call.values:
            changed["pivots"] = align(Batch(call.with_batch("pivots")), rank - 1)
        return call.run(**changed)

    return rule


def _solve(call: BatchedCall) -> Any:
    matrix, right = call["A"], call["B"]
    _check_matrix(call, "A")
    if call["left"] and _is_vector(call):
        right = Batch(aten.unsqueeze.default(with_batch(right, call.size), -1))
        results = _solve_matrices(call, matrix, right)
        return (aten.squeeze.dim(results[0], -1), *results[1:])
    return _solve_matrices(call, matrix, right)


def _is_vector(call: BatchedCall) -> bool:
    """Return whether the right-hand side is a vector for each matrix, by torch's rule for the logical shapes."""
    return call.rank("B") == 1 or (call.rank("B") == call.rank("A") - 1 and call.shape("B") == call.shape("A")[:-1])


def _solve_matrices(call: BatchedCall, matrix: Any, right: Any) -> Any:
    rank = max(rank_of(matrix), rank_of(right))
    # The factors that are returned have the leading dimensions of the matrices alone.
    return call.run(
        A=align(Batch(with_batch(matrix, call.size)), rank), B=align(Batch(with_batch(right, call.size)), rank)
    )


RULES: Final[dict[str, Rule]] = {
    **dict.fromkeys(
        (
            "linalg_cholesky_ex linalg_inv_ex linalg_lu_factor_ex lu_unpack _linalg_det _linalg_slogdet _linalg_eigh"
            " linalg_eigvalsh linalg_eig _linalg_eigvals linalg_eigvals _linalg_svd linalg_svdvals linalg_qr geqrf"
            " linalg_ldl_factor_ex linalg_matrix_exp cholesky_inverse linalg_householder_product"
        ).split(),
        leading,
    ),
    "tril": leading,
    "triu": leading,
    "linalg_solve_triangular": _broadcast("self", "B"),
    "cholesky_solve": _broadcast("self", "input2"),
    "linalg_ldl_solve": _broadcast("LD", "B"),
    "_linalg_solve_ex": _solve,
}
