"""The functions of the formulas for gradients of sparse operators, made of operators, so that gradients have gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dispatch_core as dc

from ..functions.operator_functions import FUNCTIONS
from ..tensors.tensor import Tensor
from .operators import FORMULA_FUNCTIONS, coalesce, ops
from .tensor import gather, is_sparse, record_of, wrap_coo

mask = ops.sparse_mask.default


def densify(grad: Tensor) -> Tensor:
    """Return a gradient as a strided tensor."""
    return ops.to_dense(grad, True) if is_sparse(grad) else grad


def dense_gradient(grad: Tensor, self: Tensor, masked_grad: bool) -> Tensor:
    """Return the gradient of ``to_dense``: in the places that the tensor has, or in all."""
    if masked_grad:
        return mask(grad, coalesce(self))
    return ops.to_sparse(grad, record_of(self).sparse_dim)


def mask_gradient(grad: Tensor, self: Tensor, within: Tensor) -> Tensor:
    """Return the gradient of ``sparse_mask``, of the masked tensor's layout: in the places of ``within`` alone."""
    found: Tensor = mask(grad, coalesce(within))
    return found if is_sparse(self) else densify(found)


def values_gradient(grad: Tensor, self: Tensor) -> Tensor:
    """Return the gradient of ``values``: in the tensor's places."""
    record = record_of(self)
    return ops._sparse_coo_tensor_with_dims_and_tensors(record.indices, grad, list(record.size), record.is_coalesced)


def sum_gradient(grad: Tensor, self: Tensor, dim: Sequence[int]) -> Tensor:
    """Return the gradient of ``sum``: each element's is that of the sum that it went into."""
    record = record_of(coalesce(self))
    rank = len(record.size)
    summed = {each % rank for each in dim}
    kept = [each for each in range(record.sparse_dim) if each not in summed]
    rest = range(record.sparse_dim, rank)
    if kept:
        values = gather(grad, FUNCTIONS["stack"]([record.indices[each] for each in kept]))
    else:
        values = densify(grad).unsqueeze(0)
    for place, each in enumerate(rest):
        if each in summed:
            values = values.unsqueeze(place + 1)
    return wrap_coo(record.indices, values.expand(dc.shape(record.values)).contiguous(), record.size, True)


def embedding_gradient(
    grad: Tensor, indices: Tensor, weight_sizes: Sequence[int], padding_idx: int, scale_grad_by_freq: bool
) -> Tensor:
    """Return the gradient of ``embedding`` as the rows that were read, in their order."""
    if scale_grad_by_freq:
        raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
    width = weight_sizes[1]
    places, values = indices.reshape(-1), grad.reshape(indices.numel(), width)
    if padding_idx != -1:
        kept = (places != padding_idx).nonzero().reshape(-1)
        places, values = places.index_select(0, kept), values.index_select(0, kept)
    found: Any = ops._sparse_coo_tensor_with_dims_and_tensors(
        places.long().unsqueeze(0), values, list(weight_sizes), False
    )
    return found


FORMULA_FUNCTIONS.update(
    {
        "coalesce": coalesce,
        "dense_gradient": dense_gradient,
        "densify": densify,
        "embedding_gradient": embedding_gradient,
        "gather": gather,
        "mask": mask,
        "mask_gradient": mask_gradient,
        "sum_gradient": sum_gradient,
        "values_gradient": values_gradient,
    }
)
