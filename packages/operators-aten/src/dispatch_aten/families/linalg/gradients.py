"""Functions of the formulas of linear algebra (sources: M. Giles, "Collected matrix derivative results"; torch's notes).

Operators with several results get and return gradients as torch has them, complex ones not conjugated; those with one
result follow the rule in ``dispatch_aten.derivatives``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dispatch_core as dc
from dispatch_aten.decompositions._matrices import (
    column,
    conj,
    diag_embed,
    diagonal,
    eye_like,
    imag,
    mH,
    mT,
    row,
    with_diagonal,
    zeros_like_shape,
)
from dispatch_aten.decompositions._shared import Array, aten, cast, numel
from dispatch_aten.errors import OperatorError
from dispatch_aten.families.linalg.least_squares import EPSILON

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "cholesky_backward",
    "cholesky_inverse_backward",
    "cholesky_solve_backward",
    "cholesky_tangent",
    "det_backward",
    "inv_backward",
    "lstsq_backward_matrix",
    "lstsq_backward_sides",
    "lu_factor_backward",
    "lu_unpack_backward",
    "matrix_exp_backward",
    "pinv_backward",
    "qr_backward",
    "slogdet_backward",
    "solve_backward_matrix",
    "solve_backward_sides",
    "solve_triangular_backward_matrix",
    "solve_triangular_backward_sides",
]

Grad = Array | None


def multiply(*matrices: Array) -> Array:
    """Return the product of matrices from left to right."""
    found = matrices[0]
    for each in matrices[1:]:
        found = aten.matmul.default(found, each)
    return found


def add_grads(*terms: Grad) -> Grad:
    """Return the sum of those terms that are not None."""
    found = None
    for each in terms:
        if each is not None:
            found = each if found is None else aten.add.Tensor(found, each)
    return found


def _neg(self: Array) -> Array:
    return aten.neg.default(self)


def subtract(a: Array, b: Array) -> Array:
    return aten.sub.Tensor(a, b)


def _triangular(A: Array, B: Array, *, upper: bool, left: bool = True, unit: bool = False) -> Array:
    # Under autocast the products that are solved for come in a lower precision than the factors.
    B = cast(B, dc.dtype(A))
    return aten.linalg_solve_triangular.default(A, B, upper=upper, left=left, unitriangular=unit)


def solve(A: Array, B: Array, *, left: bool = True) -> Array:
    """Solve for matrices ``B``, which the operator would take as vectors where they look like a batch of these."""
    if dc.shape(B) == dc.shape(A)[:-1]:
        B = aten.expand.default(B, dc.shape(A))
    return aten.linalg_solve_ex.default(A, B, left=left)[0]


def cholesky_backward(grad: Grad, L: Array, upper: bool) -> Grad:
    """Return the gradient of ``linalg.cholesky``'s argument."""
    if grad is None:
        return None
    if upper:
        grad, L = mH(grad), mH(L)
    phi = aten.tril.default(multiply(mH(L), grad))
    phi = aten.mul.Scalar(aten.add.Tensor(phi, mH(aten.tril.default(phi, -1))), 0.5)
    return _triangular(L, _triangular(mH(L), phi, upper=True), upper=False, left=False)


def cholesky_tangent(tangent: Array, L: Array, upper: bool) -> Array:
    """Return the tangent of ``linalg.cholesky``'s result; the argument's is taken as it is, symmetric or not."""
    lower = mH(L) if upper else L
    inner = _triangular(mH(lower), _triangular(lower, tangent, upper=False), upper=True, left=False)
    phi = aten.sub.Tensor(aten.tril.default(inner), aten.mul.Scalar(diag_embed(diagonal(inner)), 0.5))
    found = multiply(lower, phi)
    return mH(found) if upper else found


def cholesky_inverse_backward(grad: Array, L: Array, upper: bool, inverse: Array) -> Array:
    """Return the gradient of ``cholesky_inverse``'s argument."""
    grad = conj(grad)
    inner = multiply(inverse, aten.add.Tensor(grad, mH(grad)), inverse)
    return conj(_neg(multiply(L, inner) if upper else multiply(inner, L)))


def cholesky_solve_backward(grad: Array, L: Array, result: Array, upper: bool) -> Array:
    """Return the gradient of the factors of ``cholesky_solve``."""
    inner = multiply(aten.cholesky_solve.default(conj(grad), L, upper), mH(result))
    inner = aten.add.Tensor(inner, mH(inner))
    return conj(_neg(multiply(L, inner) if upper else multiply(inner, L)))


def inv_backward(grad: Grad, inverse: Array) -> Grad:
    """Return the gradient of ``linalg.inv``'s argument."""
    return None if grad is None else _neg(multiply(mH(inverse), grad, mH(inverse)))


def _as_columns(grad: Array, A: Array, sizes: Sequence[int]) -> tuple[Array, bool]:
    """Return a gradient of solutions as matrices, and whether the right-hand sides were vectors."""
    shape = dc.shape(A)
    vector = len(sizes) == 1 or (len(shape) - 1 == len(sizes) and tuple(sizes) == shape[:-1])
    return (column(grad) if vector else grad), vector


def solve_backward_sides(grad: Grad, A: Array, left: bool, sizes: Sequence[int]) -> Grad:
    """Return the gradient of the right-hand sides of ``linalg.solve``."""
    if grad is None:
        return None
    grad, vector = _as_columns(grad, A, sizes)
    found = solve(mH(A), grad, left=left)
    return aten.squeeze.dim(found, -1) if vector else found


def solve_backward_matrix(grad: Grad, result: Array, A: Array, left: bool, sizes: Sequence[int]) -> Grad:
    """Return the gradient of the matrices of ``linalg.solve``."""
    if grad is None:
        return None
    grad, vector = _as_columns(grad, A, sizes)
    sides, X = solve(mH(A), grad, left=left), column(result) if vector else result
    return _neg(multiply(sides, mH(X)) if left else multiply(mH(X), sides))


def solve_triangular_backward_sides(grad: Array, A: Array, upper: bool, left: bool, unit: bool) -> Array:
    """Return the gradient of the right-hand sides of ``linalg.solve_triangular``."""
    return _triangular(mT(A), grad, upper=not upper, left=left, unit=unit)


def solve_triangular_backward_matrix(
    grad: Array, result: Array, A: Array, upper: bool, left: bool, unit: bool
) -> Array:
    """Return the gradient of the triangular matrices of ``linalg.solve_triangular``."""
    sides = solve_triangular_backward_sides(grad, A, upper, left, unit)
    found = _neg(multiply(sides, mT(result)) if left else multiply(mT(result), sides))
    return aten.triu.default(found, int(unit)) if upper else aten.tril.default(found, -int(unit))


def _pad(self: Array, rows: int, columns: int) -> Array:
    """Return matrices with zeros below and on the right."""
    *batch, have_rows, have_columns = dc.shape(self)
    if rows > have_rows:
        self = aten.cat.default([self, zeros_like_shape(self, (*batch, rows - have_rows, have_columns))], -2)
    if columns > have_columns:
        self = aten.cat.default([self, zeros_like_shape(self, (*batch, rows, columns - have_columns))], -1)
    return self


def lu_unpack_backward(grad_lower: Grad, grad_upper: Grad, sizes: Sequence[int]) -> Grad:
    """Return the gradient of the packed factors."""
    rows, columns = sizes[-2:]
    lower = None if grad_lower is None else _pad(aten.tril.default(grad_lower, -1), rows, columns)
    upper = None if grad_upper is None else _pad(aten.triu.default(grad_upper), rows, columns)
    return add_grads(lower, upper)


def lu_factor_backward(grad: Grad, LU: Array, pivots: Array, pivot: bool) -> Grad:
    """Return the gradient of a matrix A = P L U, of any shape, from the gradient of both factors in one array."""
    if grad is None:
        return None
    P, L, U = aten.lu_unpack.default(LU, pivots, True, pivot)
    *_, rows, columns = dc.shape(LU)
    inner = min(rows, columns)
    top, left = (aten.slice.Tensor(each, dim, 0, inner) for each, dim in ((L, -2), (U, -1)))
    grad_lower = aten.tril.default(aten.slice.Tensor(aten.slice.Tensor(grad, -1, 0, inner), -2, 0, inner), -1)
    grad_upper = aten.triu.default(aten.slice.Tensor(aten.slice.Tensor(grad, -1, 0, inner), -2, 0, inner))
    below, right = aten.slice.Tensor(grad, -2, inner), aten.slice.Tensor(grad, -1, inner)
    lower, upper = multiply(mH(top), grad_lower), multiply(grad_upper, mH(left))
    if columns > inner:
        lower = subtract(lower, multiply(right, mH(aten.slice.Tensor(U, -1, inner))))
    if rows > inner:
        upper = subtract(upper, multiply(mH(aten.slice.Tensor(L, -2, inner)), below))
    found = aten.add.Tensor(aten.tril.default(lower, -1), aten.triu.default(upper))
    found = _triangular(mH(left), _triangular(mH(top), found, upper=True, unit=True), upper=False, left=False)
    if columns > inner:
        found = aten.cat.default([found, _triangular(mH(top), right, upper=True, unit=True)], -1)
    if rows > inner:
        found = aten.cat.default([found, _triangular(mH(left), below, upper=False, left=False)], -2)
    return multiply(P, found) if pivot else found


def det_backward(grad: Grad, det: Array, A: Array) -> Grad:
    """Return the gradient of ``linalg.det``'s argument: the adjugate, for singular matrices by singular values.

    Both ways are computed, on harmless matrices where the other one counts, so that nothing depends on values.
    """
    if grad is None:
        return None
    size = dc.shape(A)[-1]
    limit = 100 * EPSILON[dc.dtype(A).to_real().short]
    singular = column(column(aten.lt.Scalar(aten.abs.default(det), limit)))
    unit = eye_like(A, size)
    scale = column(column(aten.mul.Tensor(grad, conj(det))))
    regular = aten.mul.Tensor(solve(mH(aten.where.self(singular, unit, A)), unit), scale)
    if not size:
        return regular
    # Distinct singular values keep the second derivative of the unused way finite.
    spread = diag_embed(cast(aten.add.Scalar(_places(A, size), 1), dc.dtype(A)))
    U, S, Vh = aten._linalg_svd.default(aten.where.self(singular, A, spread), False, True)
    phase = conj(aten.mul.Tensor(aten.linalg_det.default(U), aten.linalg_det.default(Vh)))
    others = aten.mul.Tensor(cast(_products_of_others(S), dc.dtype(A)), column(phase))
    flat = multiply(aten.mul.Tensor(U, row(others)), Vh)
    return aten.where.self(singular, aten.mul.Tensor(flat, column(column(grad))), regular)


def _places(like: Array, size: int) -> Array:
    return dc.wrap_like(like, aten.arange.start_step(0, size, 1, device=dc.device(like)))


def _products_of_others(values: Array) -> Array:
    """Return for each value the product of all others, without dividing."""
    size = dc.shape(values)[-1]
    ones = aten.new_ones.default(values, (*dc.shape(values)[:-1], 1))
    before = aten.cumprod.default(aten.cat.default([ones, aten.slice.Tensor(values, -1, 0, size - 1)], -1), -1)
    turned = aten.flip.default(values, [-1])
    after = aten.cumprod.default(aten.cat.default([ones, aten.slice.Tensor(turned, -1, 0, size - 1)], -1), -1)
    return aten.mul.Tensor(before, aten.flip.default(after, [-1]))


def slogdet_backward(grad_sign: Grad, grad_size: Grad, sign: Array, A: Array) -> Grad:
    """Return the gradient of ``linalg.slogdet``'s argument."""
    factor = grad_size
    if grad_sign is not None and dc.dtype(A).is_complex:
        turn = aten.mul.Scalar(imag(aten.mul.Tensor(conj(grad_sign), sign)), -1j)
        factor = add_grads(factor, turn)
    if factor is None:
        return None
    unit = eye_like(A, dc.shape(A)[-1])
    return aten.mul.Tensor(solve(mH(A), unit), column(column(cast(factor, dc.dtype(A)))))


def qr_backward(grad_q: Grad, grad_r: Grad, Q: Array, R: Array, mode: str, sizes: Sequence[int]) -> Grad:
    """Return the gradient of ``linalg.qr``'s argument."""
    if grad_q is None and grad_r is None:
        return None
    rows, columns = sizes[-2:]
    if mode == "r":
        raise OperatorError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
            "linalg.qr(A, mode='reduced') if you are going to require gradients"
        )
    if mode == "complete" and rows > columns:
        raise OperatorError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols")
    if rows >= columns:
        return _qr_backward_tall(grad_q, grad_r, Q, R)
    # The last columns are Q times theirs of R, so that their gradient is added to that of Q.
    first, last = aten.slice.Tensor(R, -1, 0, rows), aten.slice.Tensor(R, -1, rows)
    if grad_r is None:
        found = _qr_backward_tall(grad_q, None, Q, first)
        return _pad(found, rows, columns)
    grad_last = aten.slice.Tensor(grad_r, -1, rows)
    grad_q = add_grads(grad_q, multiply(Q, last, mH(grad_last)))
    found = _qr_backward_tall(grad_q, aten.slice.Tensor(grad_r, -1, 0, rows), Q, first)
    return aten.cat.default([found, multiply(Q, grad_last)], -1)


def _qr_backward_tall(grad_q: Grad, grad_r: Grad, Q: Array, R: Array) -> Array:
    inner = add_grads(
        None if grad_r is None else multiply(grad_r, mH(R)),
        None if grad_q is None else _neg(multiply(mH(Q), grad_q)),
    )
    inner = aten.triu.default(inner)
    inner = aten.add.Tensor(inner, mH(inner))
    inner = with_diagonal(inner, aten.mul.Scalar(diagonal(inner), 0.5))
    found = add_grads(multiply(Q, inner), grad_q)
    return _triangular(mH(R), found, upper=False, left=False)


def pinv_backward(grad: Array, result: Array, A: Array) -> Array:
    """Return the gradient of ``linalg.pinv``'s argument."""
    adjoint, turned = mH(result), mT(grad)
    rows, columns = dc.shape(A)[-2:]
    if rows <= columns:
        K = multiply(turned, result)
        outside = multiply(K, adjoint)
        found = subtract(outside, mH(multiply(result, K)))
        found = subtract(found, multiply(A, result, outside))
        found = aten.add.Tensor(found, multiply(adjoint, result, subtract(turned, multiply(K, A))))
    else:
        K = multiply(result, turned)
        outside = multiply(adjoint, K)
        found = subtract(multiply(subtract(turned, multiply(A, K)), result, adjoint), mH(multiply(K, result)))
        found = subtract(aten.add.Tensor(found, outside), multiply(outside, result, A))
    return conj(found)


def _pinv_backward(grad: Array, pseudoinverse: Array, A: Array) -> Array:
    """Do as ``pinv_backward`` for a gradient that is not conjugated."""
    return conj(pinv_backward(conj(grad), pseudoinverse, A))


def _lstsq_sides(b: Array, A: Array) -> tuple[Array, bool]:
    vector = len(dc.shape(b)) == len(dc.shape(A)) - 1
    return (column(b) if vector else b), vector


def _if_any(grad: Grad) -> Grad:
    """Return the gradient, and None for that of no elements."""
    return None if grad is None or not numel(grad) else grad


def lstsq_backward_matrix(grad: Grad, grad_residuals: Grad, A: Array, b: Array, X: Array) -> Grad:
    """Return the gradient of the matrices of ``linalg.lstsq``."""
    sides, vector = _lstsq_sides(b, A)
    found, grad_residuals = None, _if_any(grad_residuals)
    if grad is not None:
        inverse = aten.linalg_pinv.atol_rtol_tensor(A)
        found = _pinv_backward(multiply(column(grad) if vector else grad, mH(sides)), inverse, A)
    if grad_residuals is not None:
        solution = column(X) if vector else X
        left = aten.mul.Tensor(subtract(multiply(A, solution), sides), row(grad_residuals))
        found = add_grads(found, aten.mul.Scalar(multiply(left, mH(solution)), 2))
    return found


def lstsq_backward_sides(grad: Grad, grad_residuals: Grad, A: Array, b: Array, X: Array) -> Grad:
    """Return the gradient of the right-hand sides of ``linalg.lstsq``."""
    sides, vector = _lstsq_sides(b, A)
    found, grad_residuals = None, _if_any(grad_residuals)
    if grad is not None:
        found = multiply(mH(aten.linalg_pinv.atol_rtol_tensor(A)), column(grad) if vector else grad)
    if grad_residuals is not None:
        left = subtract(sides, multiply(A, column(X) if vector else X))
        found = add_grads(found, aten.mul.Scalar(aten.mul.Tensor(left, row(grad_residuals)), 2))
    return aten.squeeze.dim(found, -1) if vector and found is not None else found


def matrix_exp_backward(grad: Array, A: Array) -> Any:
    """Return the gradient of ``linalg.matrix_exp``'s argument: a block of the exponential of a matrix of twice the size."""
    size = dc.shape(A)[-1]
    turned = mT(A)
    above = aten.cat.default([turned, grad], -1)
    below = aten.cat.default([aten.zeros_like.default(turned), turned], -1)
    found = aten.linalg_matrix_exp.default(aten.cat.default([above, below], -2))
    return aten.slice.Tensor(aten.slice.Tensor(found, -2, 0, size), -1, size)
