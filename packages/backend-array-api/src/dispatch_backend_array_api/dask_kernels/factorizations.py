"""Factorizations of tall and wide matrices by Dask's ``tsqr``; least squares by the triangular factor of both sides.

Note [Tall matrices]
    ``tsqr`` factors each chunk of rows, and then their triangular factors, stacked. So no worker holds the matrix, and the
    columns of a row of chunks must be one chunk: another matrix is rechunked. The signs of the factors are not LAPACK's.
    ``R`` of ``[A, B]`` holds all that least squares need, so ``Q`` is never made: the least squares of the small matrices,
    by singular values, are those of the tall ones, and the rest of ``R`` is the residual.
"""

from __future__ import annotations

from collections.abc import Callable
from math import nan
from typing import Any, Final

import dask.array as da
import numpy as np
from dask.array.linalg import tsqr

from dispatch_aten.decompositions import EXPLICIT
from dispatch_aten.shapes import RULES

from ..dask_cluster import with_sizes
from ..dask_collecting import collect, collect_on_host
from ..library import Array, ArrayLibrary, Kernel
from .blocks import if_full_rank
from .hosted import run_whole


def _is_divided(matrix: Array) -> bool:
    """Return whether an array is one matrix in several chunks."""
    return matrix.ndim == 2 and matrix.npartitions > 1 and 0 not in matrix.shape


def _as_column(operator: str, matrix: Array) -> Array:
    """Return a matrix with more rows than columns in one column of chunks; see Note [Tall matrices]."""
    rows, columns = matrix.shape
    line = columns * matrix.dtype.itemsize
    before = max(matrix.chunks[0])
    # A chunk with all columns has fewer rows, so that it stays as large as the chunks were; and so many that Dask can stack
    # the triangles a few at a time.
    tallest = min(max(before // matrix.numblocks[1], 2 * columns), rows)
    if matrix.numblocks[1] > 1 or tallest > before:
        collect(operator, tallest * line, "for a chunk with all columns on one worker", "choose fewer columns")
        matrix = matrix.rechunk({0: tallest, 1: -1})
    sizes = tuple([size for size in matrix.chunks[0] if size])
    return matrix if sizes == matrix.chunks[0] else matrix.rechunk((sizes, matrix.chunks[1]))


def _adjoint(matrix: Array) -> Array:
    return matrix.T.conj() if matrix.dtype.kind == "c" else matrix.T


def _triangle(operator: str, matrix: Array) -> Array:
    """Return ``R`` of a matrix in one chunk; of a wide one that of the adjoint."""
    tall = matrix if matrix.shape[0] >= matrix.shape[1] else _adjoint(matrix)
    return tsqr(_as_column(operator, tall))[1]


def _svd(library: ArrayLibrary) -> Kernel:
    name, rule = "_linalg_svd", RULES["_linalg_svd"]
    whole = collect_on_host(f"aten::{name}")

    def svd(A: Array, full_matrices: bool = False, compute_uv: bool = True, *, driver: str | None = None) -> Any:
        with_sizes([A])
        metas = rule(library.meta(A), full_matrices, compute_uv, driver=driver)
        if 0 in A.shape:
            return whole(A, full_matrices, compute_uv, driver=driver)
        rows, columns = A.shape[-2:]
        if not _is_divided(A) or (compute_uv and full_matrices and rows != columns):
            if compute_uv and full_matrices:
                size = max(rows, columns) ** 2 * A.dtype.itemsize
                collect("aten::linalg_svd", size, "on one worker", "ask for full_matrices=False")
            if compute_uv:
                return run_whole(library, name, (A, full_matrices, True), {}, (2,), metas)
            values = run_whole(library, "linalg_svdvals", (A,), {}, (2,), metas[1:2])[0]
            empty = [library.full(meta.shape, 0, meta.dtype) for meta in metas]
            return empty[0], values, empty[2]
        if not compute_uv:
            small = _triangle("aten::linalg_svdvals", A)
            values = run_whole(library, "linalg_svdvals", (small,), {}, (2,), metas[1:2])[0]
            return (
                library.full(metas[0].shape, 0, metas[0].dtype),
                values,
                library.full(metas[2].shape, 0, metas[2].dtype),
            )
        if rows < columns:
            left, values, right = svd(_adjoint(A), False)
            return _adjoint(right), values, _adjoint(left)
        orthogonal, small = tsqr(_as_column("aten::linalg_svd", A))
        described = rule(library.meta(small), False, True)
        left, values, right = run_whole(library, name, (small, False, True), {}, (2,), described)
        return orthogonal @ left, values, right

    return svd


def _qr(library: ArrayLibrary) -> Kernel:
    name, rule = "linalg_qr", RULES["linalg_qr"]
    whole = collect_on_host(f"aten::{name}")

    def qr(A: Array, mode: str = "reduced") -> tuple[Array, Array]:
        with_sizes([A])
        metas = rule(library.meta(A), mode)
        if 0 in A.shape:
            return whole(A, mode)
        rows, columns = A.shape[-2:]
        if not _is_divided(A) or (mode == "complete" and rows > columns):
            if mode == "complete":
                collect("aten::linalg_qr", rows * rows * A.dtype.itemsize, "on one worker", "ask for mode='reduced'")
            if mode == "r":
                reduced = rule(library.meta(A), "reduced")
                return library.full((0,), 0, metas[0].dtype), run_whole(library, name, (A,), {}, (2,), reduced)[1]
            return run_whole(library, name, (A, mode), {}, (2,), metas)
        if rows >= columns:
            orthogonal, triangle = tsqr(_as_column("aten::linalg_qr", A))
        else:
            # The first columns decide: those behind them are turned alike.
            first = A[:, :rows].rechunk(-1)
            collect("aten::linalg_qr", first.nbytes, "on one worker", "choose fewer rows")
            described = rule(library.meta(first), "reduced")
            orthogonal, left = run_whole(library, name, (first,), {}, (2,), described)
            triangle = da.concatenate([left, _adjoint(orthogonal) @ A[:, rows:]], axis=1)
        return (library.full((0,), 0, metas[0].dtype), triangle) if mode == "r" else (orthogonal, triangle)

    return qr


def _lstsq(library: ArrayLibrary) -> Kernel:
    name, composed = "linalg_lstsq", EXPLICIT["linalg_lstsq"]

    def lstsq(self: Array, b: Array, rcond: float | None = None, *, driver: str | None = None) -> tuple[Array, ...]:
        with_sizes([self, b])
        metas = RULES[name](library.meta(self), library.meta(b), rcond, driver=driver)
        vector = b.ndim == 1
        sides = b[:, None] if vector else b
        if not _is_divided(self) or not sides.shape[1] or self.shape[0] < self.shape[1] + sides.shape[1]:
            return composed(self, b, rcond, driver=driver)
        rows, columns = self.shape
        both = _triangle(f"aten::{name}", da.concatenate([self, sides.rechunk({0: self.chunks[0]})], axis=1))
        if rcond is None:
            rcond = float(np.finfo(self.dtype).eps) * rows
        small, right, rest = both[:columns, :columns], both[:columns, columns:], both[columns:, columns:]
        options = {"driver": "gelsd"}
        described = RULES[name](library.meta(small), library.meta(right), rcond, **options)
        solution, _, rank, values = run_whole(library, name, (small, right, float(rcond)), options, (2, 2), described)
        nothing = library.full((0,), 0, metas[1].dtype)
        residuals = nothing
        if metas[1].shape != (0,):
            residuals = (abs(small @ solution - right) ** 2).sum(0) + (abs(rest) ** 2).sum(0)
            if driver != "gels":
                residuals = da.map_blocks(
                    if_full_rank, residuals.rechunk(-1), rank, columns, chunks=((nan,),), meta=residuals._meta
                )
        return (
            solution[:, 0] if vector else solution,
            residuals,
            rank if driver != "gels" else library.full((0,), 0, metas[2].dtype),
            values if metas[3].shape != (0,) else nothing,
        )

    return lstsq


#: Operator → function of the library that makes its kernel.
KERNELS: Final[dict[str, Callable[[ArrayLibrary], Kernel]]] = {
    "_linalg_svd": _svd,
    "linalg_qr": _qr,
    "linalg_lstsq": _lstsq,
}
