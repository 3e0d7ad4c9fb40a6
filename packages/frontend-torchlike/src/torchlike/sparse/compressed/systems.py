"""Systems of equations with compressed matrices, by SciPy."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import dispatch_core as dc
from dispatch_aten.errors import library_hint

from ...tensors.arrays import from_numpy
from ...tensors.tensor import Tensor
from ..operators import ops
from .operators import NAMES
from .products import NARROW, Array, load_scipy, make_matrix
from .tensor import is_compressed, record_of


def solve_triangular(
    op: Any, self: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> tuple[Tensor, Tensor]:
    """Solve a system of a triangular compressed matrix; raises ``RuntimeError`` without SciPy."""
    if not is_compressed(A) or is_compressed(self):
        raise RuntimeError("triangular_solve: expected a strided right-hand side\nHint: to_dense() makes one")
    kind, size = dc.dtype(self), dc.shape(A)
    if len(size) != 2 or self.dim() != 2 or size[0] != size[1] or size[0] != dc.shape(self)[0]:
        raise RuntimeError(
            f"triangular_solve: expected square matrices that fit, but got {list(size)}, {list(self.shape)}"
        )
    _check_dtype("triangular_solve", kind, dc.dtype(A))
    try:
        found = _solve(A, self, partial(_solve_by_lines, upper, transpose, unitriangular))
    except np.linalg.LinAlgError:  # torch divides by zero
        found = op(self, ops.to_dense(A, True), upper, transpose, unitriangular)[0]
    return found, self.new_zeros((0,))


def _check_dtype(name: str, kind: Any, other: Any) -> None:
    if kind is not other:
        raise RuntimeError(f"{name}: expected tensors of one dtype, but got {kind.name} and {other.name}")
    if not (kind.is_floating_point or kind.is_complex) or kind in NARROW:
        raise NotImplementedError(
            f'"{name}" not implemented for {kind.name!r}\nHint: it is for float32, float64, complex64 and complex128'
        )


def _solve_by_lines(upper: bool, transpose: bool, unitriangular: bool, module: Any, matrix: Any, right: Array) -> Array:
    scipy = load_scipy()
    part = (scipy.triu if upper else scipy.tril)(matrix).tocsr()
    if transpose:
        part, upper = part.T.tocsr(), not upper
    if unitriangular:
        part.setdiag(1)
    found: Array = module.spsolve_triangular(part, right, lower=not upper, unit_diagonal=unitriangular)
    return found


def _solve(matrix: Tensor, right: Tensor, function: Any) -> Tensor:
    module = load_scipy("scipy.sparse.linalg")
    if module is None:
        raise RuntimeError(f"a sparse system needs SciPy, which is not installed\nHint: {library_hint('scipy')}")
    record = record_of(matrix)
    compressed, plain, values = (
        each.detach().cpu().numpy() for each in (record.compressed, record.plain, record.values)
    )
    made = make_matrix(compressed, plain, values, list(record.size), NAMES[record.layout])
    found: Tensor = from_numpy(np.ascontiguousarray(function(module, made, right.detach().cpu().numpy())))
    return found.to(dtype=dc.dtype(right), device=right.device)


def _factor(module: Any, made: Any, values: Array) -> Array:
    try:
        found: Array = module.splu(made.tocsc()).solve(values)
    except RuntimeError as error:
        raise RuntimeError("spsolve(): the matrix is singular") from error
    return found


def solve(matrix: Tensor, right: Tensor) -> Tensor:
    """Return the solution of a system by the factors of its compressed matrix."""
    size = dc.shape(matrix)
    if len(size) != 2 or size[0] != size[1] or dc.shape(right)[:1] != size[:1]:
        raise RuntimeError(
            f"spsolve(): expected a square matrix and rows that fit, but got {list(size)}, {list(right.shape)}"
        )
    _check_dtype("spsolve", dc.dtype(right), dc.dtype(matrix))
    return _solve(matrix, right, _factor)
