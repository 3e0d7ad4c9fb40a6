"""Triangular factors of matrices by LAPACK, of many small ones all at once, and results made of them.

LAPACK is SciPy's. Where that is not installed all matrices are factorized at once, and equations are solved, by blocks of
columns, whose products are NumPy's.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from math import prod
from typing import Any, Final

import numpy as np

from ...arrays import Array
from ...kernel_table import Kernel, KernelTable
from ...libraries import find_scipy
from ..support.constants import NUMBERS, number
from ..support.reduce_ufuncs import PROD, SUM
from ..support.rule_kernels import make_kernel

KERNELS: Final = KernelTable()

#: Matrices of up to so many rows are factorized together, if there are so many for each row.
_ROWS, _MANY = 16, 8
#: How many columns are a block.
_BLOCK: Final = 32


@cache
def lapack(name: str, dtype: np.dtype[Any]) -> Any:
    """Return a function of LAPACK for a dtype, or None where SciPy is not installed."""
    found = find_scipy("linalg.lapack")
    return None if found is None else found.get_lapack_funcs(name, dtype=dtype)


def as_batch(array: Array) -> Array:
    """Return an array as one batch of matrices."""
    return array.reshape(prod(array.shape[:-2]), *array.shape[-2:])


def _as_lines(array: Array) -> Array:
    """Return an array as one batch of vectors."""
    return array.reshape(prod(array.shape[:-1]), array.shape[-1])


def factorize(A: Array, pivots: Array, info: Array) -> Array:
    """Return the factors of matrices; write the exchanges of their rows, counted from 1, and LAPACK's codes."""
    found = np.array(A, order="C")
    if not found.size:
        return found
    rows, codes = _as_lines(pivots), info.reshape(-1)
    matrices = as_batch(found)
    if _are_many_small(matrices) and np.isfinite(matrices).all():
        _eliminate(matrices, rows, codes)
        return found
    getrf = lapack("getrf", A.dtype)
    if getrf is None:
        _eliminate_by_blocks(matrices, rows, codes)
        return found
    for place, matrix in enumerate(matrices):
        matrix[...], exchanges, codes[place] = getrf(matrix)
        rows[place] = exchanges + 1
    return found


def _are_many_small(matrices: Array) -> bool:
    count, rows, columns = matrices.shape
    return matrices.dtype in NUMBERS and rows == columns <= _ROWS and count >= _MANY * rows


def _eliminate_by_blocks(matrices: Array, pivots: Array, codes: Array) -> None:
    """Replace matrices by their factors, a block of columns of all of them after the other."""
    count = pivots.shape[1]
    for start in range(0, count, _BLOCK):
        stop = min(start + _BLOCK, count)
        _eliminate(matrices[:, start:, start:stop], pivots[:, start:stop], codes, start)
        for beside in (matrices[:, :, :start], matrices[:, :, stop:]):
            exchange(beside, pivots, range(start, stop))
        right = matrices[:, start:, stop:]
        substitute(matrices[:, start:stop, start:stop], right[:, : stop - start], lower=True, unit=True)
        right[:, stop - start :] -= matrices[:, stop:, start:stop] @ right[:, : stop - start]


def _size(array: Array) -> Array:
    """Return the sizes by which LAPACK chooses: of complex numbers the sum of those of their parts."""
    if array.dtype.kind == "c":
        return np.absolute(array.real) + np.absolute(array.imag)
    return np.absolute(array)


def _eliminate(matrices: Array, pivots: Array, codes: Array, start: int = 0) -> None:
    """Replace matrices by their factors, one column of all of them after the other.

    Of larger matrices they are the rows and columns from ``start`` on.
    """
    each = np.arange(len(matrices))
    for step in range(pivots.shape[1]):
        chosen = _size(matrices[:, step:, step]).argmax(1)
        chosen += step
        pivots[:, step] = chosen + (start + 1)
        top = matrices[each, chosen]
        matrices[each, chosen] = matrices[:, step]
        matrices[:, step] = top
        pivot = top[:, step]
        zero = pivot == 0
        if zero.any():
            codes[zero & (codes == 0)] = start + step + 1
            pivot = np.where(zero, number(1, pivot), pivot)
        below = matrices[:, step + 1 :, step]
        below /= pivot[:, None]
        matrices[:, step + 1 :, step + 1 :] -= below[:, :, None] * top[:, None, step + 1 :]


def solve_each(factors: Array, pivots: Array, B: Array, shape: tuple[int, ...], *, left: bool) -> Array:
    """Solve by factors and exchanges; ``B`` and the result are stacks of matrices."""
    if left and factors.shape[:-2] == shape[:-2] and factors.dtype is B.dtype and _are_many_small(as_batch(factors)):
        found = np.array(np.broadcast_to(B, shape), order="C")
        _solve_together(as_batch(factors), _as_lines(pivots), as_batch(found), left=True)
        return found
    getrs = lapack("getrs", factors.dtype)
    factors = np.broadcast_to(factors, (*shape[:-2], *factors.shape[-2:]))
    pivots, sides = np.broadcast_to(pivots, factors.shape[:-1]), np.broadcast_to(B, shape)
    if getrs is None:
        found = np.array(sides, factors.dtype, order="C")
        _solve_together(as_batch(factors), _as_lines(pivots), as_batch(found), left=left)
        return found
    found, pivots = np.empty(shape, factors.dtype), pivots - 1
    for index in np.ndindex(shape[:-2]):
        each = getrs(factors[index], pivots[index], sides[index] if left else sides[index].T, trans=int(not left))[0]
        found[index] = each if left else each.T
    return found


def _solve_together(factors: Array, pivots: Array, sides: Array, *, left: bool) -> None:
    """Solve all equations in place, one row of all of them after the other."""
    steps = range(factors.shape[1])
    if left:
        exchange(sides, pivots, steps)
        substitute(factors, sides, lower=True, unit=True)
        substitute(factors, sides, lower=False)
        return
    factors, sides = factors.swapaxes(1, 2), sides.swapaxes(1, 2)
    substitute(factors, sides, lower=True)
    substitute(factors, sides, lower=False, unit=True)
    exchange(sides, pivots, steps[::-1])


def exchange(matrices: Array, pivots: Array, steps: Iterable[int]) -> None:
    """Exchange rows of all matrices in place, by the numbers that LAPACK lists, counted from 1."""
    each = np.arange(len(matrices))
    for step in steps:
        chosen = pivots[:, step] - 1
        other = matrices[each, chosen]
        matrices[each, chosen] = matrices[:, step]
        matrices[:, step] = other


def substitute(factors: Array, sides: Array, *, lower: bool, unit: bool = False) -> None:
    """Solve for the triangle of square matrices in place; ``unit``: its diagonal counts as ones."""
    count = factors.shape[1]
    starts = range(0, count, _BLOCK)
    for start in starts if lower else starts[::-1]:
        stop = min(start + _BLOCK, count)
        steps = range(start, stop)
        for step in steps if lower else steps[::-1]:
            if not unit:
                sides[:, step] /= factors[:, step, step, None]
            near = slice(step + 1, stop) if lower else slice(start, step)
            sides[:, near] -= factors[:, near, step, None] * sides[:, step, None]
        far = slice(stop, None) if lower else slice(start)
        if stop < count if lower else start:
            sides[:, far] -= factors[:, far, start:stop] @ sides[:, start:stop]


def _factorize_square(A: Array) -> tuple[Array, Array, Array]:
    """Return the factors, the exchanges, and whether their number is even, as 1 or -1."""
    pivots = np.zeros(A.shape[:-1], np.int32)
    found = factorize(A, pivots, np.zeros(A.shape[:-2], np.int32))
    count = SUM(pivots != np.arange(1, A.shape[-1] + 1), -1)
    signs = np.asarray(1 - 2 * (count % 2)).astype(A.dtype)
    return found, pivots, signs


def _det(spec: Any, A: Array) -> Any:
    found, pivots, signs = _factorize_square(A)
    return PROD(found.diagonal(0, -2, -1), -1) * signs, found, pivots


def _slogdet(spec: Any, A: Array) -> Any:
    found, pivots, signs = _factorize_square(A)
    values = found.diagonal(0, -2, -1)
    size = np.absolute(values)
    units = values / np.where(size == 0, number(1, size), size)
    return PROD(units, -1) * signs, SUM(np.log(size), -1), found, pivots


def _lu_unpack(
    spec: Any, LU_data: Array, LU_pivots: Array, unpack_data: bool = True, unpack_pivots: bool = True
) -> tuple[Array, Array, Array]:
    rows, columns = LU_data.shape[-2:]
    inner, dtype = min(rows, columns), LU_data.dtype
    permutation = lower = upper = np.empty(0, dtype)
    if unpack_pivots:
        permutation = np.zeros((*LU_pivots.shape[:-1], rows, rows), dtype)
        order = _order_of(_as_lines(LU_pivots), rows)
        flat = as_batch(permutation)
        flat[np.arange(len(flat))[:, None], order, np.arange(rows)] = 1
    if unpack_data:
        lower = np.tril(LU_data[..., :inner], -1)
        lower[..., range(inner), range(inner)] = 1
        upper = np.triu(LU_data[..., :inner, :])
    return permutation, lower, upper


def _order_of(pivots: Array, rows: int) -> Array:
    """Return where the rows of matrices went by the exchanges that LAPACK lists, counted from 1."""
    order = np.arange(rows)[None].repeat(len(pivots), 0)
    each = np.arange(len(pivots))
    for step, other in enumerate(pivots.T - 1):
        moved = order[each, other]
        order[each, other] = order[:, step]
        order[:, step] = moved
    return order


_COMPUTE: Final[dict[str, Kernel]] = {"_linalg_det": _det, "_linalg_slogdet": _slogdet, "lu_unpack": _lu_unpack}
KERNELS.update({name: make_kernel(name, compute) for name, compute in _COMPUTE.items()})
