"""Products of matrices of which one or both are sparse."""

from __future__ import annotations

from typing import Any

import dispatch_core as dc

from ..functions.operator_functions import FUNCTIONS
from ..tensors.tensor import Tensor
from .matrices import multiply, multiply_both
from .operators import coalesce
from .refusals import refuse_operator
from .tensor import is_sparse, record_of, wrap_coo


def multiply_matrices(op: Any, self: Tensor, mat2: Tensor) -> Tensor:
    """Return the product of two matrices: sparse where both are, else strided."""
    for each in (self, mat2):
        if len(dc.shape(each)) != 2:
            raise RuntimeError(f"mm(): expected matrices, but got a tensor of {len(dc.shape(each))} dimensions")
    if dc.dtype(self) is not dc.dtype(mat2):
        raise RuntimeError(f"expected scalar type {dc.dtype(self).name} but found {dc.dtype(mat2).name}")
    rows, inner = dc.shape(self)
    if dc.shape(mat2)[0] != inner:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({rows}x{inner} and {'x'.join(map(str, dc.shape(mat2)))})"
        )
    for each in (self, mat2):
        if is_sparse(each) and record_of(each).sparse_dim != 2:
            raise RuntimeError(
                f"mm(): expected sparse matrices of 2 sparse dimensions, but got {record_of(each).sparse_dim}"
            )
    if not is_sparse(self):
        other = record_of(mat2)
        return multiply(other.indices.flip(0), other.values, other.size[::-1], self.t()).t()
    record = record_of(self)
    if not is_sparse(mat2):
        return multiply(record.indices, record.values, record.size, mat2)
    one, two = record_of(coalesce(self)), record_of(coalesce(mat2))
    indices, values = multiply_both(one, two)
    return wrap_coo(indices, values, (rows, dc.shape(mat2)[1]), True)


def multiply_batches(op: Any, self: Tensor, mat2: Tensor) -> Tensor:
    """Return the products of sparse matrices and strided ones: one product, with the matrices along a diagonal."""
    if not is_sparse(self) or is_sparse(mat2):
        refuse_operator(op, self, mat2)
    record, other = record_of(self), dc.shape(mat2)
    if len(record.size) != 3 or len(other) != 3 or record.sparse_dim != 3:
        raise RuntimeError(f"bmm_sparse: Tensor 'self' must have 3 sparse dims, but has {record.sparse_dim}")
    (batch, rows, inner), width = record.size, other[2]
    if other[:2] != (batch, inner):
        raise RuntimeError(f"bmm_sparse: expected batches of sizes {[batch, inner]}, but got {list(other[:2])}")
    if dc.dtype(self) is not dc.dtype(mat2):
        raise RuntimeError(f"expected scalar type {dc.dtype(self).name} but found {dc.dtype(mat2).name}")
    number, row, column = FUNCTIONS["unbind"](record.indices, 0)
    places = FUNCTIONS["stack"]([number * rows + row, number * inner + column])
    size = batch * rows, batch * inner
    return multiply(places, record.values, size, mat2.reshape(size[1], width)).reshape(batch, rows, width)


def multiply_vector(op: Any, self: Tensor, vec: Tensor) -> Tensor:
    """Return the product of a matrix and a vector, of which one is sparse."""
    if len(dc.shape(self)) != 2 or len(dc.shape(vec)) != 1:
        raise RuntimeError(
            f"mv: two dim tensor 'self' expected and one dim 'vec', but got {self.dim()}D and {vec.dim()}D"
        )
    if dc.shape(self)[1] != dc.shape(vec)[0]:
        raise RuntimeError("mv: expected self.size(-1) == vec.size(-1)")
    if is_sparse(vec):
        record = record_of(vec)
        column = FUNCTIONS["cat"]([record.indices, FUNCTIONS["zeros_like"](record.indices)])
        vec = wrap_coo(column, record.values, (*record.size, 1), record.is_coalesced)
        return multiply_matrices(op, self, vec).squeeze(1)
    return multiply_matrices(op, self, vec.unsqueeze(1)).squeeze(1)


def add_product(op: Any, self: Tensor, mat1: Tensor, mat2: Tensor, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Return ``beta * self + alpha * mat1 @ mat2``, of which ``self`` and ``mat2`` are strided."""
    product = multiply_matrices(op, mat1, mat2)
    return self * beta + product * alpha
