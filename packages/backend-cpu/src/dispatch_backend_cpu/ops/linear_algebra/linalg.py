"""Kernels of linear algebra: NumPy's functions, and where it lacks one LAPACK's and BLAS's as SciPy has them.

Where SciPy is not installed `factors` replaces them, but for two: exponentials and the factors of ``ldl``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Final

import numpy as np

from dispatch_aten.errors import LinAlgError, OperatorError

from ...arrays import Array, empty_strided
from ...kernel_table import Kernel, KernelTable
from ...libraries import find_scipy, scipy
from ...output_specs import OutputSpec
from ..support.rule_kernels import cast, make_kernel
from .factors import as_batch, factorize, lapack, solve_each, substitute

KERNELS: Final = KernelTable()

_ILL: Final = (
    "The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated eigenvalues"
)


def _add(name: str, api: str = "") -> Callable[[Kernel], Kernel]:
    """Return a decorator that makes the kernel of ``name``; where NumPy does not converge, ``api`` names the function."""

    def add(compute: Kernel) -> Kernel:
        @wraps(compute)
        def guard(spec: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                return compute(spec, *args, **kwargs)
            except np.linalg.LinAlgError:
                raise LinAlgError(f"{api}: {_ILL} (error code: 1).") from None

        KERNELS[name] = make_kernel(name, guard)
        return compute

    return add


def _check_finite(A: Array, api: str) -> None:
    if not np.isfinite(A).all():
        raise OperatorError(f"torch.{api}: input tensor should not contain infs or NaNs.")


def _find_fault(info: Array) -> tuple[str, int]:
    """Return how errors name the first matrix with a code, and the code; 0 where there is none."""
    codes = info.reshape(-1)
    if not codes.any():
        return "", 0
    place = int(codes.nonzero()[0][0])
    return (f"(Batch element {place}): " if info.ndim else ""), int(codes[place])


@_add("linalg_cholesky_ex")
def _cholesky_ex(spec: Any, A: Array, *, upper: bool = False, check_errors: bool = False) -> Any:
    """Return the factors of all matrices at once, and where one is not positive-definite one by one."""
    info = np.zeros(A.shape[:-2], np.int32)
    try:
        return np.linalg.cholesky(A, upper=upper), info
    except np.linalg.LinAlgError:
        pass
    found, codes = np.array(A), info.reshape(-1)
    potrf = lapack("potrf", A.dtype) or _factorize_definite
    for place, matrix in enumerate(as_batch(found)):
        matrix[...], codes[place] = potrf(matrix, lower=not upper, clean=True)
    batch, code = _find_fault(info)
    if check_errors and code:
        raise LinAlgError(
            f"linalg.cholesky: {batch}The factorization could not be completed because the input is not positive-definite "
            f"(the leading minor of order {code} is not positive-definite)."
        )
    return found, info


def _factorize_definite(matrix: Array, *, lower: bool, clean: bool) -> tuple[Array, int]:
    """Return the factor of a matrix as far as it is positive-definite, and the first order at which it is not, else 0."""
    factor, code = np.tril(matrix if lower else matrix.conj().T), 0
    for step in range(len(matrix)):
        row = factor[step, :step].conj()
        rest = factor[step:, step] - factor[step:, :step] @ row
        if not rest[0].real > 0:
            code = step + 1
            break
        factor[step:, step] = rest / np.sqrt(rest[0].real)
    return factor if lower else factor.conj().T, code


@_add("linalg_lu_factor_ex")
def _lu_factor_ex(spec: Any, A: Array, *, pivot: bool = True, check_errors: bool = False) -> Any:
    if not pivot:
        raise OperatorError("linalg.lu_factor: LU without pivoting is not implemented on the CPU", argument="pivot")
    pivots, info = np.zeros(spec[1].shape, np.int32), np.zeros(spec[2].shape, np.int32)
    found = factorize(A, pivots, info)
    batch, code = _find_fault(info)
    if check_errors and code:
        raise OperatorError(
            f"torch.linalg.lu_factor: {batch}U[{code},{code}] is zero and using it on lu_solve would result in a division "
            "by zero. If you still want to perform the factorization, consider calling linalg.lu(A, pivot) or "
            "linalg.lu_factor_ex(A, pivot)"
        )
    return found, pivots, info


@_add("_linalg_solve_ex")
def _solve_ex(spec: Any, A: Array, B: Array, *, left: bool = True, check_errors: bool = False) -> Any:
    pivots, info = np.zeros(spec[2].shape, np.int32), np.zeros(spec[3].shape, np.int32)
    factors = factorize(A, pivots, info)
    batch, code = _find_fault(info)
    if check_errors and code:
        raise LinAlgError(f"linalg.solve: {batch}The solver failed because the input matrix is singular.")
    shape, vector = spec[0].shape, B.ndim == 1 or (A.ndim - 1 == B.ndim and B.shape == A.shape[:-1])
    sides, shape = (B[..., None], (*shape, 1)) if vector else (B, shape)
    found = solve_each(factors, pivots, sides, shape, left=left) if spec[0].numel else np.empty(shape, A.dtype)
    return found[..., 0] if vector else found, factors, pivots, info


@_add("linalg_inv_ex")
def _inv_ex(spec: Any, A: Array, *, check_errors: bool = False) -> Any:
    """Return the inverses, and where a matrix is singular those by its factors, divided by 0."""
    info = np.zeros(spec[1].shape, np.int32)
    try:
        return np.linalg.inv(A), info
    except np.linalg.LinAlgError:
        pivots = np.zeros(A.shape[:-1], np.int32)
    factors = factorize(A, pivots, info)
    batch, code = _find_fault(info)
    if check_errors:
        raise LinAlgError(
            f"linalg.inv: {batch}The diagonal element {code} is zero, the inversion could not be completed because the "
            "input matrix is singular."
        )
    return solve_each(factors, pivots, np.eye(A.shape[-1], dtype=A.dtype), A.shape, left=True), info


@_add("linalg_solve_triangular")
def _solve_triangular(
    spec: OutputSpec, A: Array, B: Array, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Any:
    """Solve by BLAS, which divides by zeros where a matrix is singular."""
    found = np.empty(spec.shape, spec.array_dtype)
    if not found.size:
        return found
    batch, blas = spec.shape[:-2], find_scipy("linalg.blas")
    factors, sides = (np.broadcast_to(each, (*batch, *each.shape[-2:])) for each in (A, B))
    if blas is None:
        found[...] = sides
        one, other = as_batch(factors), as_batch(found)
        if not left:
            one, other = one.swapaxes(1, 2), other.swapaxes(1, 2)
        substitute(one, other, lower=upper != left, unit=unitriangular)
        return found
    trsm = blas.get_blas_funcs("trsm", dtype=spec.array_dtype)
    for index in np.ndindex(batch):
        factor = factors[index]
        # A row-major matrix is the transposed of a column-major one, which needs no copy.
        turned = factor.flags.c_contiguous and not factor.flags.f_contiguous
        found[index] = trsm(
            1.0,
            factor.T if turned else factor,
            sides[index],
            side=not left,
            lower=upper if turned else not upper,
            trans_a=int(turned),
            diag=unitriangular,
        )
    return found


@_add("_linalg_eigh", "linalg.eigh")
def _eigh(spec: Any, A: Array, UPLO: str = "L", compute_v: bool = True) -> Any:
    if not np.isfinite(A).all():
        raise np.linalg.LinAlgError
    side: Any = UPLO.upper()
    if compute_v:
        return np.linalg.eigh(A, side)
    return np.linalg.eigvalsh(A, side), np.empty(0, A.dtype)


@_add("_linalg_svd", "linalg.svd")
def _svd(spec: Any, A: Array, full_matrices: bool = False, compute_uv: bool = True, **options: Any) -> Any:
    if compute_uv:
        return np.linalg.svd(A, full_matrices)
    return np.empty(0, A.dtype), np.linalg.svd(A, compute_uv=False), np.empty(0, A.dtype)


@_add("linalg_eig", "linalg.eig")
def _eig(spec: Any, A: Array) -> Any:
    _check_finite(A, "linalg.eig")
    return np.linalg.eig(A)


@_add("_linalg_eigvals", "linalg.eigvals")
def _eigvals(spec: OutputSpec, A: Array) -> Any:
    _check_finite(A, "linalg.eigvals")
    return np.linalg.eigvals(A)


@_add("linalg_qr")
def _qr(spec: Any, A: Array, mode: str = "reduced") -> Any:
    """Return Q and R, or for ``geqrf`` the reflections that they are made of."""
    if mode == "r":
        return np.empty(0, A.dtype), np.linalg.qr(A, "r")
    if mode != "raw":
        return np.linalg.qr(A, mode)  # type: ignore[call-overload]  # one of the modes that the shape rule takes
    reflections, factors = np.linalg.qr(A, "raw")
    return np.swapaxes(reflections, -1, -2), factors


KERNELS["geqrf"] = make_kernel("geqrf", lambda spec, self: _qr(spec, self, "raw"))


@_add("linalg_matrix_exp")
def _matrix_exp(spec: OutputSpec, A: Array) -> Any:
    return scipy("linalg", "linalg_matrix_exp").expm(A) if A.size else A


@_add("linalg_ldl_factor_ex")
def _ldl_factor_ex(spec: Any, A: Array, *, hermitian: bool = False, check_errors: bool = False) -> Any:
    found, pivots, info = np.array(A), np.zeros(spec[1].shape, np.int32), np.zeros(spec[2].shape, np.int32)
    codes = info.reshape(-1)
    if found.size:
        scipy("linalg.lapack", "linalg_ldl_factor_ex")
        factor, rows = (
            lapack("hetrf" if hermitian and A.dtype.kind == "c" else "sytrf", A.dtype),
            pivots.reshape(-1, A.shape[-1]),
        )
        for place, matrix in enumerate(as_batch(found)):
            matrix[...], rows[place], codes[place] = factor(np.tril(matrix), lower=True)
    batch, code = _find_fault(info)
    if check_errors and code:
        raise LinAlgError(
            f"torch.linalg.ldl_factor_ex: {batch}Factorization failed because D[{code}, {code}] is exactly zero."
        )
    return found, pivots, info


@_add("linalg_ldl_solve")
def _ldl_solve(spec: OutputSpec, LD: Array, pivots: Array, B: Array, *, hermitian: bool = False) -> Any:
    found = np.array(np.broadcast_to(B, spec.shape))
    factors = np.broadcast_to(LD, (*spec.shape[:-2], *LD.shape[-2:]))
    exchanges = np.broadcast_to(pivots, (*spec.shape[:-2], LD.shape[-1]))
    for index in np.ndindex(spec.shape[:-2]):
        _undo_factors(factors[index], exchanges[index].tolist(), found[index], hermitian and LD.dtype.kind == "c")
    return found


def _undo_factors(factor: Array, exchanges: list[int], B: Array, hermitian: bool) -> None:
    """Solve in place by the unit lower triangle, the blocks on the diagonal, and the upper triangle (LAPACK's ``sytrs``)."""
    blocks, start = [], 0
    while start < len(exchanges):
        end = start + (1 if exchanges[start] > 0 else 2)
        blocks.append((start, end))
        start = end
    lower = np.tril(factor, -1)
    upper = lower.conj().T if hermitian else lower.T
    for start, end in blocks:
        last, other = end - 1, abs(exchanges[end - 1]) - 1
        B[[last, other]] = B[[other, last]]
        B[end:] -= lower[end:, start:end] @ B[start:end]
        block = lower[start:end, start:end] + upper[start:end, start:end] + np.diag(np.diagonal(factor)[start:end])
        B[start:end] = np.linalg.solve(block, B[start:end])
    for start, end in reversed(blocks):
        last, other = end - 1, abs(exchanges[end - 1]) - 1
        B[start:end] -= upper[start:end, end:] @ B[end:]
        B[[last, other]] = B[[other, last]]


#: The places one and two after each of three, and up to how many elements they are taken at once.
_NEXT, _LAST, _SMALL = np.array([1, 2, 0]), np.array([2, 0, 1]), 4096


@_add("linalg_cross")
def _cross(spec: OutputSpec, a: Array, b: Array, *, dim: int = -1) -> Any:
    if spec.numel <= _SMALL and a.shape == b.shape:
        a, b = cast(a, spec.array_dtype), cast(b, spec.array_dtype)
        return a.take(_NEXT, dim) * b.take(_LAST, dim) - a.take(_LAST, dim) * b.take(_NEXT, dim)
    first, second = (np.moveaxis(np.broadcast_to(cast(each, spec.array_dtype), spec.shape), dim, 0) for each in (a, b))
    found = empty_strided(spec.shape, spec.strides, spec.array_dtype)
    into = np.moveaxis(found, dim, 0)
    for place, one, other in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        np.subtract(first[one] * second[other], first[other] * second[one], into[place, ...])
    return found
