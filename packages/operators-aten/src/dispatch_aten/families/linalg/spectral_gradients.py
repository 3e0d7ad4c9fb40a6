"""Functions of the formulas of eigenvalues and singular values; see ``linalg`` for complex gradients."""

from __future__ import annotations

import dispatch_core as dc
from dispatch_aten.decompositions._matrices import (
    column,
    conj,
    diag_embed,
    diagonal,
    mH,
    real,
    row,
    with_diagonal,
)
from dispatch_aten.decompositions._shared import Array, aten, cast
from dispatch_aten.errors import OperatorError
from dispatch_aten.families.linalg.gradients import Grad, add_grads, multiply, solve, subtract

__all__ = [
    "eig_backward",
    "eigh_backward",
    "eigh_values_tangent",
    "eigh_vectors_tangent",
    "eigvals_backward",
    "eigvalsh_backward",
    "svd_backward",
    "svdvals_backward",
]


def _differences(values: Array) -> Array:
    """Return ``values[j] - values[i]`` at row i and column j, and 1 on the diagonal."""
    return with_diagonal(aten.sub.Tensor(row(values), column(values)), 1)


def eigh_backward(grad_values: Grad, grad_vectors: Grad, L: Array, V: Array) -> Grad:
    """Return the gradient of ``linalg.eigh``'s argument."""
    if grad_values is None and grad_vectors is None:
        return None
    if grad_vectors is None:
        return multiply(aten.mul.Tensor(V, row(_cast_like(grad_values, V))), mH(V))
    # The eigenvectors follow half of the difference to the adjoint, which makes the gradient symmetric.
    turn = aten.mul.Scalar(_skew(multiply(mH(V), grad_vectors)), 0.5)
    inner = with_diagonal(aten.div.Tensor(turn, _differences(L)), 0 if grad_values is None else grad_values)
    return multiply(V, inner, mH(V))


def eigh_values_tangent(tangent: Array, V: Array) -> Array:
    """Return the tangent of the eigenvalues of ``linalg.eigh``."""
    return real(diagonal(multiply(mH(V), tangent, V)))


def eigh_vectors_tangent(tangent: Array, L: Array, V: Array) -> Array:
    """Return the tangent of the eigenvectors of ``linalg.eigh``; the argument's is taken as it is, symmetric or not."""
    turn = aten.div.Tensor(multiply(mH(V), tangent, V), _differences(L))
    return multiply(V, with_diagonal(turn, 0))


def _cast_like(self: Array, other: Array) -> Array:
    """Return ``self`` in the dtype of ``other``."""
    return cast(self, dc.dtype(other))


def eigvalsh_backward(grad: Array, A: Array, UPLO: str) -> Array:
    """Return the gradient of ``linalg.eigvalsh``'s argument, whose eigenvectors are computed for it."""
    L, V = aten._linalg_eigh.default(A, UPLO, True)
    return eigh_backward(grad, None, L, V)


def eig_backward(grad_values: Grad, grad_vectors: Grad, L: Array, V: Array) -> Grad:
    """Return the gradient of ``linalg.eig``'s argument."""
    if grad_values is None and grad_vectors is None:
        return None
    if grad_vectors is None:
        return solve(mH(V), aten.mul.Tensor(column(grad_values), mH(V)))
    inner = multiply(mH(V), grad_vectors)
    along = _cast_like(real(diagonal(inner)), V)
    inner = subtract(inner, multiply(mH(V), aten.mul.Tensor(V, row(along))))
    inner = aten.div.Tensor(inner, _differences(conj(L)))
    inner = with_diagonal(inner, 0 if grad_values is None else grad_values)
    return solve(mH(V), multiply(inner, mH(V)))


def eigvals_backward(grad: Array, A: Array) -> Array:
    """Return the gradient of ``linalg.eigvals``'s argument, whose eigenvectors are computed for it."""
    L, V = aten.linalg_eig.default(A)
    return conj(eig_backward(conj(grad), None, L, V))


def svdvals_backward(grad: Array, A: Array) -> Array:
    """Return the gradient of ``linalg.svdvals``'s argument, whose singular vectors are computed for it."""
    U, _, Vh = aten._linalg_svd.default(A, False, True)
    return multiply(aten.mul.Tensor(U, row(_cast_like(grad, U))), Vh)


def _skew(self: Array) -> Array:
    return subtract(self, mH(self))


def svd_backward(
    grad_left: Grad, grad_values: Grad, grad_right: Grad, U: Array, S: Array, Vh: Array, compute_uv: bool
) -> Grad:
    """Return the gradient of ``linalg.svd``'s argument."""
    if not compute_uv:
        raise OperatorError("svd_backward: Setting compute_uv to false in torch.svd doesn't compute singular vectors")
    count = dc.shape(S)[-1]
    U, Vh = aten.slice.Tensor(U, -1, 0, count), aten.slice.Tensor(Vh, -2, 0, count)
    grad_left = None if grad_left is None else aten.slice.Tensor(grad_left, -1, 0, count)
    grad_right = None if grad_right is None else aten.slice.Tensor(grad_right, -2, 0, count)
    if grad_left is None and grad_right is None:
        return None if grad_values is None else multiply(aten.mul.Tensor(U, row(_cast_like(grad_values, U))), Vh)
    rows, columns = dc.shape(U)[-2], dc.shape(Vh)[-1]
    gaps = _differences(aten.square.default(S))
    left = None if grad_left is None else _skew(multiply(mH(U), grad_left))
    right = None if grad_right is None else _skew(multiply(Vh, mH(grad_right)))
    inner = add_grads(
        None if left is None else aten.mul.Tensor(left, row(S)),
        None if right is None else aten.mul.Tensor(column(S), right),
    )
    inner = aten.div.Tensor(inner, gaps)
    if grad_values is not None:
        inner = aten.add.Tensor(inner, diag_embed(_cast_like(grad_values, U)))
    if left is not None and right is not None and dc.dtype(U).is_complex:
        inner = aten.add.Tensor(inner, diag_embed(aten.div.Tensor(diagonal(left), aten.mul.Scalar(S, 2))))
    found = multiply(U, inner, Vh)
    if rows > count and grad_left is not None:
        outside = aten.div.Tensor(grad_left, row(S))
        found = aten.add.Tensor(found, multiply(subtract(outside, multiply(U, mH(U), outside)), Vh))
    if columns > count and grad_right is not None:
        outside = aten.div.Tensor(grad_right, column(S))
        found = aten.add.Tensor(found, multiply(U, subtract(outside, multiply(outside, mH(Vh), Vh))))
    return found
