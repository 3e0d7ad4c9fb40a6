"""Triangular factors of matrices by LAPACK, of many small ones all at once, and what is made of them."""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any, Final

import numpy as np

from ..arrays import Array
from ..kernel_table import Kernel, KernelTable
from ..libraries import scipy
from .constants import NUMBERS, number
from .reduce_ufuncs import PROD, SUM
from .rule_kernels import make_kernel

KERNELS: Final = KernelTable()

#: Matrices of up to so many rows are factorized together, if there are so many for each row.
_ROWS, _MANY = 16, 8


@cache
def lapack(name: str, dtype: np.dtype[Any]) -> Any:
    """Return a function of LAPACK for a dtype."""
    return scipy("linalg.lapack").get_lapack_funcs(name, dtype=dtype)


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
    for place, matrix in enumerate(matrices):
        matrix[...], exchanges, codes[place] = getrf(matrix)
        rows[place] = exchanges + 1
    return found


def _are_many_small(matrices: Array) -> bool:
    count, rows, columns = matrices.shape
    return matrices.dtype in NUMBERS and rows == columns <= _ROWS and count >= _MANY * rows


def _eliminate(matrices: Array, pivots: Array, codes: Array) -> None:
    """Replace matrices by their factors, one column of all of them after the other."""
    each = np.arange(len(matrices))
    for step in range(matrices.shape[1]):
        chosen = np.absolute(matrices[:, step:, step]).argmax(1)
        chosen += step
        pivots[:, step] = chosen + 1
        top = matrices[each, chosen]
        matrices[each, chosen] = matrices[:, step]
        matrices[:, step] = top
        pivot = top[:, step]
        zero = pivot == 0
        if zero.any():
            codes[zero & (codes == 0)] = step + 1
            pivot = np.where(zero, number(1, pivot), pivot)
        below = matrices[:, step + 1 :, step]
        below /= pivot[:, None]
        matrices[:, step + 1 :, step + 1 :] -= below[:, :, None] * top[:, None, step + 1 :]


def solve_each(factors: Array, pivots: Array, B: Array, shape: tuple[int, ...], *, left: bool) -> Array:
    """Solve by factors and exchanges; ``B`` and the result are stacks of matrices."""
    if left and factors.shape[:-2] == shape[:-2] and factors.dtype is B.dtype and _are_many_small(as_batch(factors)):
        found = np.array(np.broadcast_to(B, shape), order="C")
        _substitute(as_batch(factors), _as_lines(pivots), as_batch(found))
        return found
    found = np.empty(shape, factors.dtype)
    getrs = lapack("getrs", factors.dtype)
    factors, pivots = np.broadcast_to(factors, (*shape[:-2], *factors.shape[-2:])), pivots - 1
    pivots, sides = np.broadcast_to(pivots, factors.shape[:-1]), np.broadcast_to(B, shape)
    for index in np.ndindex(shape[:-2]):
        each = getrs(factors[index], pivots[index], sides[index] if left else sides[index].T, trans=int(not left))[0]
        found[index] = each if left else each.T
    return found


def _substitute(factors: Array, pivots: Array, sides: Array) -> None:
    """Solve all equations in place, one row of all of them after the other."""
    each, count = np.arange(len(factors)), factors.shape[1]
    for step in range(count):
        chosen = pivots[:, step] - 1
        other = sides[each, chosen]
        sides[each, chosen] = sides[:, step]
        sides[:, step] = other
    for step in range(count):
        sides[:, step + 1 :] -= factors[:, step + 1 :, step, None] * sides[:, step, None]
    for step in range(count - 1, -1, -1):
        sides[:, step] /= factors[:, step, step, None]
        sides[:, :step] -= factors[:, :step, step, None] * sides[:, step, None]


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
