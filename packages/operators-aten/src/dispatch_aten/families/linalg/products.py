"""Powers and chains of matrices, and equations of tensors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import dispatch_core as dc
from dispatch_aten.decompositions._matrices import column, conj, eye_like
from dispatch_aten.decompositions._shared import Array, aten, cast, meta_of, ndim, numel
from dispatch_aten.dtypes import int64
from dispatch_aten.errors import DtypeError, OperatorError, ShapeError
from dispatch_aten.shapes.dims import wrap_dim
from dispatch_aten.shapes.matrices import check_inexact, check_square

if TYPE_CHECKING:
    from collections.abc import Sequence


def _matrix_power(self: Array, n: int) -> Array:
    meta = meta_of(self)
    check_square(meta, "linalg.matrix_power")
    if n < 0:
        return _matrix_power(aten.linalg_inv.default(self), -n)
    if n == 0:
        # The zeros tie the result to its input, as torch's is.
        return aten.add.Tensor(aten.tril.default(self, -meta.shape[-1]), eye_like(self, meta.shape[-1]))
    if n == 1:
        return aten.clone.default(self)
    found, power = None, self
    while n:
        n, odd = divmod(n, 2)
        if odd:
            found = power if found is None else aten.matmul.default(found, power)
        if n:
            power = aten.matmul.default(power, power)
    return found


def _multi_dot(tensors: Sequence[Array]) -> Array:
    if len(tensors) < 2:
        raise OperatorError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}", argument="tensors")
    first, last = tensors[0], tensors[-1]
    for name, each in (("first", first), ("last", last)):
        if ndim(each) not in (1, 2):
            raise ShapeError(f"multi_dot(): the {name} tensor must be 1D or 2D but got {ndim(each)}D")
    for place, each in enumerate(tensors):
        if 0 < place < len(tensors) - 1 and ndim(each) != 2:
            raise ShapeError(f"multi_dot(): tensor {place} must be 2D but got {ndim(each)}D")
        if dc.dtype(each) != dc.dtype(first):
            raise DtypeError(
                f"multi_dot(): all tensors must have be the same dtype but tensor 0 is {dc.dtype(first).name} and tensor "
                f"{place} {dc.dtype(each).name}"
            )
    matrices = [aten.unsqueeze.default(first, 0) if ndim(first) == 1 else first, *tensors[1:-1]]
    matrices.append(column(last) if ndim(last) == 1 else last)
    for place in range(1, len(matrices)):
        before, after = dc.shape(matrices[place - 1]), dc.shape(matrices[place])
        if before[-1] != after[0]:
            raise ShapeError(
                f"multi_dot(): tensors {place - 1} and {place} with shapes {list(before)} and {list(after)} cannot be "
                "multiplied"
            )
    found = _multiply_chain(matrices)
    if ndim(first) == 1:
        found = aten.squeeze.dim(found, 0)
    return aten.squeeze.dim(found, -1) if ndim(last) == 1 else found


def _multiply_chain(matrices: Sequence[Array]) -> Array:
    """Multiply in the order of the fewest multiplications."""
    sizes = [dc.shape(matrices[0])[0], *(dc.shape(each)[1] for each in matrices)]
    best: dict[tuple[int, int], tuple[int, int]] = {(each, each): (0, each) for each in range(len(matrices))}
    for length in range(1, len(matrices)):
        for low in range(len(matrices) - length):
            high = low + length
            best[low, high] = min(
                (best[low, cut][0] + best[cut + 1, high][0] + sizes[low] * sizes[cut + 1] * sizes[high + 1], cut)
                for cut in range(low, high)
            )

    def multiply(low: int, high: int) -> Array:
        if low == high:
            return matrices[low]
        cut = best[low, high][1]
        return aten.mm.default(multiply(low, cut), multiply(cut + 1, high))

    return multiply(0, len(matrices) - 1)


def _chain_matmul(matrices: Sequence[Array]) -> Array:
    for place, each in enumerate(matrices):
        if ndim(each) != 2:
            raise ShapeError(f"Tensor {place} has {ndim(each)} dimensions, but chain_matmul expects matrices")
    if not matrices:
        raise OperatorError("chain_matmul(): Expected one or more matrices", argument="matrices")
    return matrices[0] if len(matrices) == 1 else aten.linalg_multi_dot.default(matrices)


def _tensorinv(self: Array, ind: int = 2) -> Array:
    if ind <= 0:
        raise OperatorError("Expected a strictly positive integer for 'ind'", argument="ind")
    shape = dc.shape(self)
    left, right = shape[:ind], shape[ind:]
    if math.prod(left) != math.prod(right):
        raise ShapeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{math.prod(right)} != {math.prod(left)}",
            argument="self",
        )
    inverse = aten.linalg_inv.default(aten.reshape.default(self, (math.prod(right), math.prod(left))))
    return aten.reshape.default(inverse, (*right, *left))


def _tensorsolve(self: Array, other: Array, dims: Sequence[int] | None = None) -> Array:
    if dims is not None:
        wrapped = [wrap_dim(each, ndim(self)) for each in dims]
        kept = [each for each in range(ndim(self)) if each not in wrapped]
        self = aten.permute.default(self, kept + wrapped)
    shape = dc.shape(self)[ndim(other) :]
    if math.prod(shape) != math.prod(dc.shape(self)[: ndim(other)]):
        raise ShapeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but "
            f"got {math.prod(shape)} != {math.prod(dc.shape(self)[: ndim(other)])}",
            argument="self",
        )
    count = math.prod(shape)
    matrix = aten.reshape.default(self, (count, count))
    return aten.reshape.default(aten.linalg_solve.default(matrix, aten.reshape.default(other, (-1,))), shape)


def _vander(x: Array, *, N: int | None = None) -> Array:
    x = x if ndim(x) else column(x)
    shape = dc.shape(x)
    count = shape[-1] if N is None else N
    if count <= 1:
        raise OperatorError(f"N must be greater than 1, got {count}.", argument="N")
    dtype = dc.dtype(x)
    dtype = int64 if not dtype.is_differentiable else dtype
    powers = aten.expand.default(column(cast(x, dtype)), (*shape, count - 1))
    return aten.cat.default([aten.new_ones.default(x, (*shape, 1), dtype=dtype), aten.cumprod.default(powers, -1)], -1)


def _old_vander(x: Array, N: int | None = None, increasing: bool = False) -> Array:
    if ndim(x) != 1:
        raise ShapeError("x must be a one-dimensional tensor.", argument="x")
    count = numel(x) if N is None else N
    if count < 0:
        raise OperatorError("N must be non-negative.", argument="N")
    dtype = dc.dtype(x) if dc.dtype(x).is_differentiable else int64
    rows = aten.new_ones.default(x, (numel(x), min(count, 1)), dtype=dtype)
    if count > 1:
        powers = aten.expand.default(column(cast(x, dtype)), (numel(x), count - 1))
        rows = aten.cat.default([rows, aten.cumprod.default(powers, -1)], -1)
    return rows if increasing else aten.flip.default(rows, [1])


def _vecdot(x: Array, y: Array, *, dim: int = -1) -> Array:
    for name, each in (("x", x), ("y", y)):
        check_inexact(meta_of(each), "linalg.vecdot", name, halves=True)
    if dc.dtype(x) != dc.dtype(y):
        raise DtypeError(
            f"linalg.vecdot: Expected x and y to have the same dtype, but found x of type {dc.dtype(x).name} and y of type "
            f"{dc.dtype(y).name} instead"
        )
    return aten.sum.dim_IntList(aten.mul.Tensor(conj(x), y), [dim])


def _diagonal(A: Array, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Array:
    return aten.diagonal.default(A, offset, dim1, dim2)
