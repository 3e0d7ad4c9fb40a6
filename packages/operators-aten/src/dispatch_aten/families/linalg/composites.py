"""Factorizations, solutions and determinants in terms of LU, triangular solutions and a few factorizations.

An operator that checks LAPACK's codes has its own shape rule, so that a pipeline records it and checks when it runs.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import dispatch_core as dc
from dispatch_aten import host
from dispatch_aten.decompositions._matrices import (
    check_info,
    column,
    diagonal,
    eye_like,
    in_layout,
    mH,
    mT,
    row,
    zeros_like_shape,
)
from dispatch_aten.decompositions._shared import Array, arange_like, aten, cast, meta_of
from dispatch_aten.dtypes import int32
from dispatch_aten.errors import DtypeError, OperatorError, ShapeError
from dispatch_aten.shapes import RULES
from dispatch_aten.shapes.dims import wrap_dim
from dispatch_aten.shapes.layout import broadcast_shapes
from dispatch_aten.shapes.matrices import check_inexact, check_matrices, check_same_dtype, check_square, is_vector

if TYPE_CHECKING:
    from collections.abc import Callable

    from dispatch_aten.shapes import TensorMeta


def _first(packet: str, **fixed: Any) -> Callable[..., Array]:
    """Make the operator that is the first result of another one."""

    def kernel(*args: Any, **kwargs: Any) -> Array:
        return getattr(aten, packet).default(*args, **fixed, **kwargs)[0]

    return kernel


def _leading(packet: str, count: int, **fixed: Any) -> Callable[..., tuple[Array, ...]]:
    """Make the operator that has the first ``count`` results of another one."""

    def kernel(*args: Any, **kwargs: Any) -> tuple[Array, ...]:
        return tuple(getattr(aten, packet).default(*args, **fixed, **kwargs)[:count])

    return kernel


def _forward(packet: str) -> Callable[..., Any]:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        return getattr(aten, packet).default(*args, **kwargs)

    return kernel


def _inv_ex(A: Array, *, check_errors: bool = False) -> tuple[Array, Array]:
    result, info = RULES["linalg_inv_ex"](meta_of(A), check_errors=check_errors)
    LU, pivots, info = aten.linalg_lu_factor_ex.default(A)
    if check_errors:
        check_info(
            info,
            "linalg.inv",
            lambda code: (
                f"The diagonal element {code} is zero, the inversion could not be completed because the input matrix is "
                "singular."
            ),
        )
    found = aten.linalg_lu_solve.default(LU, pivots, eye_like(A, dc.shape(A)[-1]))
    return in_layout(found, result), info


def _solve_ex(A: Array, B: Array, *, left: bool = True, check_errors: bool = False) -> tuple[Array, ...]:
    result = RULES["_linalg_solve_ex"](meta_of(A), meta_of(B), left=left)[0]
    vector = is_vector(meta_of(A), meta_of(B))
    LU, pivots, info = aten.linalg_lu_factor_ex.default(A)
    if check_errors:
        check_info(info, "linalg.solve", lambda code: "The solver failed because the input matrix is singular.")
    found = aten.linalg_lu_solve.default(LU, pivots, column(B) if vector else B, left=left)
    return in_layout(aten.squeeze.dim(found, -1) if vector else found, result), LU, pivots, info


def _lu_unpack(
    LU_data: Array, LU_pivots: Array, unpack_data: bool = True, unpack_pivots: bool = True
) -> tuple[Array, ...]:
    metas = RULES["lu_unpack"](meta_of(LU_data), meta_of(LU_pivots), unpack_data, unpack_pivots)
    rows, columns = dc.shape(LU_data)[-2:]
    inner = min(rows, columns)
    permutation = zeros_like_shape(LU_data, metas[0].shape)
    if unpack_pivots:
        permutation = _permutation_matrix(LU_data, LU_pivots, rows)
    if not unpack_data:
        return permutation, zeros_like_shape(LU_data, (0,)), zeros_like_shape(LU_data, (0,))
    lower = aten.tril.default(aten.slice.Tensor(LU_data, -1, 0, inner), -1)
    lower = aten.add.Tensor(lower, eye_like(LU_data, rows, inner))
    upper = aten.triu.default(aten.slice.Tensor(LU_data, -2, 0, inner))
    return permutation, in_layout(lower, metas[1]), in_layout(upper, metas[2])


def _permutation_matrix(like: Array, pivots: Array, size: int) -> Array:
    """Return the product of the exchanges of rows that LAPACK lists, counted from 1."""
    places = arange_like(like, size)
    order = host.get(aten.contiguous.default(aten.expand.default(places, (*dc.shape(pivots)[:-1], size)))).copy()
    exchanges = host.get(pivots)
    rows_of = order.reshape(math.prod(order.shape[:-1]), size)
    for rows, steps in zip(rows_of, exchanges.reshape(len(rows_of), exchanges.shape[-1]).tolist(), strict=True):
        for step, other in enumerate(steps):
            rows[step], rows[other - 1] = rows[other - 1], rows[step]
    there = dc.wrap_like(like, dc.ops.prims.device_put(order, device=dc.device(like)))
    return cast(aten.eq.Tensor(column(places), row(there)), dc.dtype(like))


def _check_lu_solve(LU: TensorMeta, pivots: TensorMeta, B: TensorMeta) -> None:
    check_inexact(LU, "linalg.lu_solve", "LU")
    check_square(LU, "linalg.lu_solve", "LU")
    check_same_dtype(LU, B, "linalg.lu_solve")
    if pivots.dtype != int32:
        raise DtypeError("linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32", argument="pivots")
    if pivots.shape != LU.shape[:-1]:
        raise ShapeError(
            f"linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix, but got "
            f"{list(pivots.shape)} for matrices {list(LU.shape)}",
            argument="pivots",
        )


def _lu_solve(LU: Array, pivots: Array, B: Array, *, left: bool = True, adjoint: bool = False) -> Array:
    """Solve by P L U: the factors are undone one after the other, from the other end for the adjoint."""
    _check_lu_solve(meta_of(LU), meta_of(pivots), meta_of(B))
    permutation = aten.lu_unpack.default(LU, pivots, False, True)[0]
    if not left:
        # X A = B is A^H X^H = B^H; row-major results lie as torch's do.
        found = _lu_solve_left(LU, permutation, mH(B), adjoint=not adjoint)
        return mH(found)
    return _lu_solve_left(LU, permutation, B, adjoint=adjoint)


def _lu_solve_left(LU: Array, permutation: Array, B: Array, *, adjoint: bool) -> Array:
    solve = aten.linalg_solve_triangular.default
    if adjoint:
        turned = mH(LU)
        B = solve(turned, solve(turned, B, upper=False), upper=True, unitriangular=True)
        # The product in the order that leaves the result column-major, as LAPACK's is.
        return mT(aten.matmul.default(mT(B), mT(permutation)))
    B = aten.matmul.default(mT(permutation), B)
    return solve(LU, solve(LU, B, upper=False, unitriangular=True), upper=True)


def _det(A: Array) -> tuple[Array, ...]:
    RULES["_linalg_det"](meta_of(A))
    LU, pivots, _ = aten.linalg_lu_factor_ex.default(A)
    product = aten.prod.dim_int(diagonal(LU), -1)
    return aten.mul.Tensor(product, cast(_sign_of(pivots), dc.dtype(A))), LU, pivots


def _sign_of(pivots: Array) -> Array:
    """Return 1 or -1 for an even or an odd number of exchanged rows."""
    places = aten.add.Scalar(arange_like(pivots, dc.shape(pivots)[-1]), 1)
    count = aten.sum.dim_IntList(aten.ne.Tensor(pivots, places), [-1])
    return aten.rsub.Scalar(aten.mul.Scalar(aten.remainder.Scalar(count, 2), 2), 1)


def _slogdet(A: Array) -> tuple[Array, ...]:
    RULES["_linalg_slogdet"](meta_of(A))
    LU, pivots, _ = aten.linalg_lu_factor_ex.default(A)
    values = diagonal(LU)
    size = aten.abs.default(values)
    units = aten.div.Tensor(values, aten.masked_fill.Scalar(size, aten.eq.Scalar(size, 0), 1))
    sign = aten.mul.Tensor(aten.prod.dim_int(units, -1), cast(_sign_of(pivots), dc.dtype(A)))
    return sign, aten.sum.dim_IntList(aten.log.default(size), [-1]), LU, pivots


def _logdet(self: Array) -> Array:
    meta = meta_of(self)
    check_square(meta, "logdet")
    check_inexact(meta, "logdet")
    sign, size = aten.linalg_slogdet.default(self)
    if meta.dtype.is_complex:
        return aten.add.Tensor(aten.log.default(sign), size)
    return aten.where.ScalarOther(aten.ge.Scalar(sign, 0), size, float("nan"))


def _cholesky(self: Array, *, upper: bool = False) -> Array:
    return aten.linalg_cholesky_ex.default(self, upper=upper, check_errors=True)[0]


def _cholesky_solve(self: Array, input2: Array, upper: bool = False) -> Array:
    RULES["cholesky_solve"](meta_of(self), meta_of(input2), upper)
    solve, other = aten.linalg_solve_triangular.default, mH(input2)
    first, last = (other, input2) if upper else (input2, other)
    return solve(last, solve(first, self, upper=False), upper=True)


def _cholesky_inverse(self: Array, upper: bool = False) -> Array:
    RULES["cholesky_inverse"](meta_of(self), upper)
    return _cholesky_solve(eye_like(self, dc.shape(self)[-1]), self, upper)


def _triangular_solve(
    self: Array, A: Array, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> tuple[Array, Array]:
    B, factor = meta_of(self), meta_of(A)
    check_matrices(B, "torch.triangular_solve", "b")
    check_square(factor, "triangular_solve")
    used, side = (mT(A), not upper) if transpose else (A, upper)
    found = aten.linalg_solve_triangular.default(used, self, upper=side, unitriangular=unitriangular)
    batch = broadcast_shapes(B.shape[:-2], factor.shape[:-2])
    coefficients = aten.expand.default(A, (*batch, *factor.shape[-2:]))
    return found, mT(aten.clone.default(mT(coefficients), memory_format=0))


def _svdvals(A: Array, *, driver: str | None = None) -> Array:
    return aten._linalg_svd.default(A, False, False, driver=driver)[1]


def _old_svd(self: Array, some: bool = True, compute_uv: bool = True) -> tuple[Array, ...]:
    check_matrices(meta_of(self), "linalg.svd", "input")
    if compute_uv:
        U, S, Vh = aten.linalg_svd.default(self, not some)
        return U, S, mH(Vh)
    *batch, rows, columns = dc.shape(self)
    values = aten.linalg_svdvals.default(self)
    return zeros_like_shape(self, (*batch, rows, rows)), values, zeros_like_shape(self, (*batch, columns, columns))


def _eigvalsh(self: Array, UPLO: str = "L") -> Array:
    return aten._linalg_eigh.default(self, UPLO, False)[0]


def _cross(self: Array, other: Array, *, dim: int = -1) -> Array:
    meta = RULES["linalg_cross"](meta_of(self), meta_of(other), dim=dim)
    where = wrap_dim(dim, meta.ndim)

    def rotate(array: Array, by: int) -> Array:
        parts = [aten.slice.Tensor(array, where, (by + each) % 3, (by + each) % 3 + 1) for each in range(3)]
        return aten.cat.default(parts, where)

    ahead = aten.mul.Tensor(rotate(self, 1), rotate(other, 2))
    return in_layout(aten.sub.Tensor(ahead, aten.mul.Tensor(rotate(self, 2), rotate(other, 1))), meta)


def _old_cross(self: Array, other: Array, dim: int | None = None) -> Array:
    if dim is None:
        a, b = dc.shape(self), dc.shape(other)
        dim = next((each for each, size in enumerate(a) if size == 3 and len(a) == len(b)), None)
        if dim is None:
            raise OperatorError("no dimension of size 3 in input")
    return aten.linalg_cross.default(self, other, dim=dim)
