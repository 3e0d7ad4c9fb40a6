"""Shape rules of linear algebra. Matrices that LAPACK makes are column-major, in a row-major batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dispatch_aten.dtypes import ScalarType, int32, int64
from dispatch_aten.errors import DtypeError, OperatorError, ShapeError
from dispatch_aten.shapes.dims import wrap_dim
from dispatch_aten.shapes.elementwise import elementwise
from dispatch_aten.shapes.layout import broadcast_shapes
from dispatch_aten.shapes.matrices import (
    check_inexact,
    check_matrices,
    check_same_dtype,
    check_square,
    check_square_inexact,
    column_major,
    is_vector,
)
from dispatch_aten.shapes.meta import TensorMeta, contiguous

if TYPE_CHECKING:
    pass

_Two = tuple[TensorMeta, TensorMeta]
_Three = tuple[TensorMeta, TensorMeta, TensorMeta]


def _empty(dtype: ScalarType) -> TensorMeta:
    return contiguous((0,), dtype)


def _cholesky_ex(self: TensorMeta, *, upper: bool = False, check_errors: bool = False) -> _Two:
    check_square_inexact(self, "linalg.cholesky")
    return column_major(self.shape, self.dtype), contiguous(self.shape[:-2], int32)


def _cholesky_inverse(self: TensorMeta, upper: bool = False) -> TensorMeta:
    check_square_inexact(self, "cholesky_inverse")
    return column_major(self.shape, self.dtype)


def _cholesky_solve(self: TensorMeta, input2: TensorMeta, upper: bool = False) -> TensorMeta:
    for name, meta in (("b", self), ("u", input2)):
        if meta.ndim < 2:
            raise ShapeError(f"{name} should have at least 2 dimensions, but has {meta.ndim} dimensions instead")
    check_square(input2, "cholesky_solve")
    check_same_dtype(input2, self, "cholesky_solve")
    check_inexact(input2, "cholesky_solve")
    rows, columns = input2.shape[-2:]
    if columns != self.shape[-2]:
        raise ShapeError(
            f"Incompatible matrix sizes for cholesky_solve: each A matrix is {rows} by {columns} but each b matrix is "
            f"{self.shape[-2]} by {self.shape[-1]}",
            argument="self",
        )
    batch = broadcast_shapes(self.shape[:-2], input2.shape[:-2], argument="input2")
    return column_major((*batch, *self.shape[-2:]), self.dtype)


def _inv_ex(A: TensorMeta, *, check_errors: bool = False) -> _Two:
    check_square_inexact(A, "linalg.inv")
    return column_major(A.shape, A.dtype), contiguous(A.shape[:-2], int32)


def _lu_factor_ex(A: TensorMeta, *, pivot: bool = True, check_errors: bool = False) -> _Three:
    check_matrices(A, "torch.lu_factor")
    check_inexact(A, "torch.lu_factor")
    *batch, rows, columns = A.shape
    return (
        column_major(A.shape, A.dtype),
        contiguous((*batch, min(rows, columns)), int32),
        contiguous(batch, int32),
    )


def _fit_sides(A: TensorMeta, B: TensorMeta, api: str, *, left: bool) -> tuple[tuple[int, ...], int]:
    """Return the batch of matrices and right-hand sides, and the number of columns (rows for ``left=False``)."""
    size = A.shape[-1]
    if B.shape[-2 if left else -1] != size:
        raise ShapeError(
            f"{api}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({A.shape[-2]}x{size} and {B.shape[-2]}x{B.shape[-1]})",
            argument="B",
        )
    return broadcast_shapes(A.shape[:-2], B.shape[:-2], argument="B"), B.shape[-1 if left else -2]


def _solve_ex(A: TensorMeta, B: TensorMeta, *, left: bool = True, check_errors: bool = False) -> tuple[TensorMeta, ...]:
    check_inexact(A, "linalg.solve")
    check_square_inexact(A, "linalg.solve")
    check_same_dtype(A, B, "linalg.solve")
    vector = is_vector(A, B)
    if vector and not left:
        raise ShapeError(
            "linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. In this case "
            "linalg.solve is equivalent to B / A.squeeze(-1)",
            argument="left",
        )
    sides = contiguous((*B.shape, 1), B.dtype) if vector else B
    check_matrices(sides, "linalg.solve", "B")
    batch, count = _fit_sides(A, sides, "linalg.solve", left=left)
    size = A.shape[-1]
    shape = (*batch, size) if vector else (*batch, size, count) if left else (*batch, count, size)
    pivots, info = contiguous(A.shape[:-1], int32), contiguous(A.shape[:-2], int32)
    result = column_major(shape, A.dtype) if left else contiguous(shape, A.dtype)
    return result, column_major(A.shape, A.dtype), pivots, info


def _solve_triangular(
    self: TensorMeta, B: TensorMeta, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> TensorMeta:
    check_inexact(self, "linalg.solve_triangular")
    check_same_dtype(self, B, "linalg.solve_triangular")
    check_square(self, "linalg.solve_triangular")
    check_matrices(B, "linalg.solve_triangular", "B")
    batch, count = _fit_sides(self, B, "linalg.solve_triangular", left=left)
    size = self.shape[-1]
    return column_major((*batch, size, count) if left else (*batch, count, size), self.dtype)


def _lu_unpack(
    LU_data: TensorMeta, LU_pivots: TensorMeta, unpack_data: bool = True, unpack_pivots: bool = True
) -> _Three:
    if unpack_pivots and LU_pivots.dtype != int32:
        raise DtypeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\n"
            "Note: this function is intended to be used with the output produced by torch.linalg.lu_factor",
            argument="LU_pivots",
        )
    check_matrices(LU_data, "torch.lu_unpack", "LU_data")
    *batch, rows, columns = LU_data.shape
    inner, dtype = min(rows, columns), LU_data.dtype
    permutation = contiguous((*batch, rows, rows) if unpack_pivots else (0,), dtype)
    if not unpack_data:
        return permutation, _empty(dtype), _empty(dtype)
    return permutation, contiguous((*batch, rows, inner), dtype), contiguous((*batch, inner, columns), dtype)


def _det(A: TensorMeta) -> _Three:
    check_square_inexact(A, "linalg.det")
    return contiguous(A.shape[:-2], A.dtype), column_major(A.shape, A.dtype), contiguous(A.shape[:-1], int32)


def _slogdet(A: TensorMeta) -> tuple[TensorMeta, ...]:
    check_square_inexact(A, "linalg.slogdet")
    sign = contiguous(A.shape[:-2], A.dtype)
    size = sign.with_dtype(A.dtype.to_real())
    return sign, size, column_major(A.shape, A.dtype), contiguous(A.shape[:-1], int32)


def _eigh(A: TensorMeta, UPLO: str = "L", compute_v: bool = True) -> _Two:
    check_square_inexact(A, "linalg.eigh")
    if UPLO.upper() not in ("U", "L"):
        raise OperatorError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}", argument="UPLO")
    vectors = column_major(A.shape, A.dtype) if compute_v else _empty(A.dtype)
    return contiguous(A.shape[:-1], A.dtype.to_real()), vectors


def _eig(self: TensorMeta) -> _Two:
    check_square_inexact(self, "linalg.eig")
    dtype = self.dtype.to_complex() if not self.dtype.is_complex else self.dtype
    return contiguous(self.shape[:-1], dtype), column_major(self.shape, dtype)


def _svd(A: TensorMeta, full_matrices: bool = False, compute_uv: bool = True, *, driver: str | None = None) -> _Three:
    check_matrices(A, "linalg.svd")
    check_inexact(A, "linalg.svd")
    if driver is not None:
        raise OperatorError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend.",
            argument="driver",
        )
    *batch, rows, columns = A.shape
    inner = min(rows, columns)
    values = contiguous((*batch, inner), A.dtype.to_real())
    if not compute_uv:
        return _empty(A.dtype), values, _empty(A.dtype)
    left = column_major((*batch, rows, rows if full_matrices else inner), A.dtype)
    return left, values, column_major((*batch, columns if full_matrices else inner, columns), A.dtype)


def _svdvals(A: TensorMeta, *, driver: str | None = None) -> TensorMeta:
    return _svd(A, compute_uv=False, driver=driver)[1]


def _eigvalsh(self: TensorMeta, UPLO: str = "L") -> TensorMeta:
    return _eigh(self, UPLO, False)[0]


def _eigvals(self: TensorMeta) -> TensorMeta:
    return _eig(self)[0]


def _qr(A: TensorMeta, mode: str = "reduced") -> _Two:
    check_matrices(A, "linalg.qr")
    check_inexact(A, "linalg.qr")
    if mode not in ("reduced", "complete", "r"):
        raise OperatorError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'",
            argument="mode",
        )
    *batch, rows, columns = A.shape
    inner = rows if mode == "complete" else min(rows, columns)
    orthogonal = _empty(A.dtype) if mode == "r" else column_major((*batch, rows, inner), A.dtype)
    return orthogonal, column_major((*batch, inner, columns), A.dtype)


def _geqrf(self: TensorMeta) -> _Two:
    check_matrices(self, "torch.geqrf", "input")
    check_inexact(self, "torch.geqrf", "input")
    *batch, rows, columns = self.shape
    return column_major(self.shape, self.dtype), contiguous((*batch, min(rows, columns)), self.dtype)


DRIVERS: Final = ("gels", "gelsy", "gelsd", "gelss")
"""LAPACK's functions for least squares."""


def _lstsq(
    self: TensorMeta, b: TensorMeta, rcond: float | None = None, *, driver: str | None = None
) -> tuple[TensorMeta, ...]:
    check_inexact(self, "torch.linalg.lstsq", "input")
    if self.ndim < 2:
        raise ShapeError("torch.linalg.lstsq: input must have at least 2 dimensions.", argument="self")
    if b.ndim < 1:
        raise ShapeError("torch.linalg.lstsq: other must have at least 1 dimension.", argument="b")
    if self.dtype != b.dtype:
        raise DtypeError("torch.linalg.lstsq: Expected input and other to have the same dtype", argument="b")
    if not 0 <= self.ndim - b.ndim <= 1:
        raise ShapeError(
            "torch.linalg.lstsq: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1",
            argument="b",
        )
    vector = self.ndim - 1 == b.ndim and self.shape[:-1] == b.shape
    sides = contiguous((*b.shape, 1), b.dtype) if vector or b.ndim == 1 else b
    rows = self.shape[-2]
    if sides.shape[-2] != rows:
        raise ShapeError(
            "torch.linalg.lstsq: input.size(-2) should match other.size(-" + ("1)" if vector else "2)"), argument="b"
        )
    name = "gelsy" if driver is None else driver
    if name not in DRIVERS:
        raise OperatorError(
            f"torch.linalg.lstsq: parameter `driver` should be one of ({', '.join(DRIVERS)})", argument="driver"
        )
    batch = broadcast_shapes(self.shape[:-2], sides.shape[:-2], argument="b")
    return _lstsq_results(self, sides, batch, name, vector=vector)


def _lstsq_results(
    self: TensorMeta, sides: TensorMeta, batch: tuple[int, ...], driver: str, *, vector: bool
) -> tuple[TensorMeta, ...]:
    dtype, (rows, columns), count = self.dtype, self.shape[-2:], sides.shape[-1]
    # The solutions lie in the memory of the right-hand sides, which LAPACK overwrites.
    base = column_major((*batch, max(rows, columns), count), dtype)
    solution = TensorMeta((*batch, columns, count), base.strides, dtype)
    if vector:
        solution = TensorMeta(solution.shape[:-1], solution.strides[:-1], dtype)
    has_residuals = driver != "gelsy" and rows > columns
    residuals = contiguous((*batch, count), dtype.to_real()) if has_residuals else _empty(dtype.to_real())
    rank = contiguous(self.shape[:-2], int64) if driver != "gels" else _empty(int64)
    values = (
        contiguous((*self.shape[:-2], min(rows, columns)), dtype.to_real())
        if driver in ("gelsd", "gelss")
        else _empty(dtype.to_real())
    )
    return solution, residuals, rank, values


def _pinv(self: TensorMeta, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> TensorMeta:
    check_inexact(self, "linalg.pinv", "input")
    check_matrices(self, "linalg.pinv", "input")
    if hermitian:
        check_square(self, "linalg.pinv")
    *batch, rows, columns = self.shape
    for name, each in (("atol", atol), ("rtol", rtol)):
        if each is not None and each.dtype.is_complex:
            raise DtypeError(f"torch.linalg.pinv: {name} tensor of complex type is not supported.", argument=name)
    if not self.numel:
        return contiguous((*batch, columns, rows), self.dtype)
    for each in (atol, rtol):
        if each is not None:
            broadcast_shapes(tuple(batch), each.shape)
    return contiguous((*batch, columns, rows), self.dtype)


def _ldl_factor_ex(self: TensorMeta, *, hermitian: bool = False, check_errors: bool = False) -> _Three:
    check_square_inexact(self, "torch.linalg.ldl_factor_ex")
    batch = self.shape[:-2]
    return column_major(self.shape, self.dtype), contiguous((*batch, self.shape[-1]), int32), contiguous(batch, int32)


def _ldl_solve(LD: TensorMeta, pivots: TensorMeta, B: TensorMeta, *, hermitian: bool = False) -> TensorMeta:
    check_square_inexact(LD, "torch.linalg.ldl_solve", "LD")
    check_matrices(B, "torch.linalg.ldl_solve", "B")
    if pivots.dtype.is_differentiable or pivots.dtype.name == "Bool":
        raise DtypeError(
            f"torch.linalg.ldl_solve: Expected pivots to be integers. Got {pivots.dtype.name}", argument="pivots"
        )
    if pivots.shape != LD.shape[:-1]:
        raise ShapeError(
            f"torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{list(pivots.shape)} instead",
            argument="pivots",
        )
    if LD.dtype != B.dtype:
        raise DtypeError(
            f"torch.linalg.ldl_solve: LD dtype {LD.dtype.name} does not match b dtype {B.dtype.name}", argument="B"
        )
    batch, count = _fit_sides(LD, B, "torch.linalg.ldl_solve", left=True)
    return column_major((*batch, LD.shape[-1], count), LD.dtype)


def _matrix_exp(self: TensorMeta) -> TensorMeta:
    check_square(self, "linalg.matrix_exp")
    check_inexact(self, "matrix_exp", halves=True)
    return contiguous(self.shape, self.dtype)


def _cross(self: TensorMeta, other: TensorMeta, *, dim: int = -1) -> TensorMeta:
    if self.ndim != other.ndim:
        raise ShapeError(
            f"linalg.cross: inputs must have the same number of dimensions (got {self.ndim} and {other.ndim})",
            argument="other",
        )
    where = wrap_dim(dim, self.ndim)
    if not self.ndim or self.shape[where] != 3 or other.shape[where] != 3:
        sizes = [meta.shape[where] if meta.ndim else 0 for meta in (self, other)]
        raise ShapeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {sizes[0]} and {sizes[1]}", argument="dim"
        )
    found = elementwise(self, other)
    return contiguous(found.shape, found.dtype)
