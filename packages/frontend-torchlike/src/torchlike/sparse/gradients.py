"""The functions of the formulas for gradients of sparse operators, made of operators, so that gradients have gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dispatch_core as dc

from ..functions.operator_functions import FUNCTIONS
from ..tensors.tensor import Tensor
from ..values.layouts import strided
from .compressed.operators import convert_like, remake
from .operators import FORMULA_FUNCTIONS, coalesce, ops
from .tensor import gather, is_sparse, record_of, wrap_coo

mask = ops.sparse_mask.default


def densify(grad: Tensor) -> Tensor:
    """Return a gradient as a strided tensor."""
    return grad if grad.layout is strided else ops.to_dense(grad, True)


def mask_alike(grad: Tensor, self: Tensor) -> Tensor:
    """Return a gradient in the places of a tensor that is not strided."""
    return grad if self.layout is strided else mask(grad, whole(self))


def whole(self: Tensor) -> Tensor:
    """Return the tensor with its places sorted and each there once, as those of compressed ones are."""
    return coalesce(self) if is_sparse(self) else self


def layout_gradient(grad: Tensor, self: Tensor) -> Tensor:
    """Return a gradient in the layout of a tensor."""
    return convert_like(grad, self)


def dense_gradient(grad: Tensor, self: Tensor, masked_grad: bool) -> Tensor:
    """Return the gradient of ``to_dense``: in the places that the tensor has, or in all."""
    if masked_grad:
        return mask(grad, whole(self))
    return convert_like(grad, self)


def mask_gradient(grad: Tensor, self: Tensor, within: Tensor) -> Tensor:
    """Return the gradient of ``sparse_mask``, of the masked tensor's layout: in the places of ``within`` alone."""
    return convert_like(mask(grad, whole(within)), self)


def values_gradient(grad: Tensor, self: Tensor) -> Tensor:
    """Return the gradient of ``values``: in the tensor's places."""
    if not is_sparse(self):
        return remake(self, grad)
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
        "coalesce": whole,
        "dense_gradient": dense_gradient,
        "densify": densify,
        "embedding_gradient": embedding_gradient,
        "gather": gather,
        "layout_gradient": layout_gradient,
        "mask": mask,
        "mask_alike": mask_alike,
        "mask_gradient": mask_gradient,
        "sum_gradient": sum_gradient,
        "values": ops.values.default,
        "values_gradient": values_gradient,
    }
)
