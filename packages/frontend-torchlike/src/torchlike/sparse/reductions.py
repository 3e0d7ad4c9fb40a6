"""Sums of sparse tensors."""

from __future__ import annotations

from typing import Any

import dispatch_core as dc

from ..functions.operator_functions import FUNCTIONS
from ..tensors.tensor import Tensor
from ..values.size import check_dim
from .operators import coalesce
from .tensor import record_of, wrap_coo


def sum_all(op: Any, self: Tensor, dtype: Any = None) -> Tensor:
    """Return the sum of all elements, a strided tensor."""
    return op(record_of(self).values, dtype=dtype)


def find_any(op: Any, self: Tensor) -> Tensor:
    """Return whether an element is not zero."""
    found: Tensor = op(record_of(coalesce(self)).values)
    return found


def find_norm(
    op: Any, self: Tensor, ord: Any = 2, dim: list[int] | None = None, keepdim: bool = False, dtype: Any = None
) -> Tensor:
    """Return the norm of all elements, a strided tensor."""
    rank = len(dc.shape(self))
    if dim and len({check_dim(each, rank) % rank for each in dim}) != rank:
        raise RuntimeError(
            "norm_sparse currently only supports full reductions, so 'dim' must either be empty or contain all dimensions of"
            " the input\nHint: to_dense() is a strided tensor"
        )
    found: Tensor = op(record_of(coalesce(self)).values, ord, None, False, dtype=dtype)
    return found.reshape([1] * rank) if keepdim else found


def sum_dims(op: Any, self: Tensor, dim: list[int] | None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """Return the sums over some dimensions: sparse, or strided where no sparse dimension is left."""
    record = record_of(self)
    rank = len(record.size)
    summed = sorted({check_dim(each, rank) % rank for each in dim or range(rank)})
    if dim and len(summed) != len(dim):
        raise RuntimeError(
            f"dim {next(each for each in dim if dim.count(each) > 1)} appears multiple times in the list of dims"
        )
    dense = [each - record.sparse_dim + 1 for each in summed if each >= record.sparse_dim]
    values = op(record.values, dense, keepdim, dtype=dtype) if dense else record.values
    if dtype is not None:
        values = values if dtype is values.dtype else values.to(dtype)
    elif values.dtype.is_integral or not (values.dtype.is_floating_point or values.dtype.is_complex):
        values = values.long()
    kept = [each for each in range(record.sparse_dim) if each not in summed]
    if not kept:
        found = values.sum(0)
        return found.reshape([1] * record.sparse_dim + list(dc.shape(found))) if keepdim else found
    size = [1 if each in summed else size for each, size in enumerate(record.size) if keepdim or each not in summed]
    if len(kept) == record.sparse_dim:
        return coalesce(wrap_coo(record.indices, values, size, record.is_coalesced))
    indices = FUNCTIONS["stack"]([record.indices[each] for each in kept])
    made = coalesce(wrap_coo(indices, values, [record.size[each] for each in kept] + list(dc.shape(values)[1:])))
    if not keepdim:
        return made
    sums = record_of(made)
    zeros = sums.indices.new_zeros((sums.count,))
    places = iter(sums.indices)
    whole = [zeros if each in summed else next(places) for each in range(record.sparse_dim)]
    return wrap_coo(FUNCTIONS["stack"](whole), sums.values, size, False)
