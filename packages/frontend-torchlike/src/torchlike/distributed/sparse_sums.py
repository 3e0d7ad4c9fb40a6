"""Sums of sparse tensors over processes, which may each have other places in them."""

from __future__ import annotations

from typing import Any

import dispatch_core as dc
from dispatch_aten.collectives import ProcessGroup
from dispatch_aten.dtypes import ScalarType

from ..history.grad_mode import no_grad

__all__ = ["sum_sparse"]

_gather = dc.ops.dispatch.all_gather


def sum_sparse(tensor: Any, group: ProcessGroup, *, is_empty: bool = False) -> Any:
    """Return the sum of the sparse tensors of all ranks, with each place once; with ``is_empty`` this rank's is zero.

    ``tensor`` may be dense then: it tells the shape and the dtype. Raises ``RuntimeError`` where ranks have other shapes.
    """
    from .. import sparse_coo_tensor

    with no_grad():
        own = None if is_empty else tensor.coalesce()
        dim = 1 if own is None else own.sparse_dim()
        dense_like = tensor if own is None else own.values()
        told = dense_like.new_tensor([0 if own is None else own._nnz(), dim, *tensor.shape], dtype=ScalarType.Long)
        heads = _gather(told.unsqueeze(0), group).tolist()
        if any(each[2:] != list(tensor.shape) or (each[0] and own is not None and each[1] != dim) for each in heads):
            raise RuntimeError(f"all_reduce: the sparse tensors of the ranks differ in shape: {[e[2:] for e in heads]}")
        longest = max(each[0] for each in heads)
        if not longest:
            places = told.new_zeros((dim, 0))
            return sparse_coo_tensor(places, dense_like.new_zeros((0, *tensor.shape[dim:])), tuple(tensor.shape))
        dim = next(each[1] for each in heads if each[0])
        places, values = told.new_zeros((longest, dim)), dense_like.new_zeros((longest, *tensor.shape[dim:]))
        if own is not None:
            places[: own._nnz()].copy_(own.indices().t())
            values[: own._nnz()].copy_(own.values())
        found = [_gather(each, group) for each in (places, values)]
        kept = [slice(longest * rank, longest * rank + each[0]) for rank, each in enumerate(heads)]
        parts = [dc.ops.aten.cat([each[one] for one in kept], 0) for each in found]
        return sparse_coo_tensor(parts[0].t(), parts[1], tuple(tensor.shape)).coalesce()
