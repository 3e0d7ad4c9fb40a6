"""Conversions of tensors to compressed layouts, and of compressed ones to others."""

from __future__ import annotations

from typing import Any

from ...tensors.tensor import Tensor
from ...values.layouts import layout, sparse_bsc, sparse_bsr, sparse_coo, strided
from .. import tensor as coo
from ..operators import ops
from .operators import convert
from .tensor import is_compressed, record_of


def to_layout(self: Tensor, wanted: layout | None, blocksize: Any, dense_dim: Any, what: str = "to_sparse") -> Tensor:
    """Return a tensor in a compressed layout, or a compressed one in any; raises as torch does where it cannot be."""
    target = sparse_coo if wanted is None else wanted
    is_blocked = target in (sparse_bsr, sparse_bsc)
    if target is strided:
        return self if self.layout is strided else ops.to_dense(self, True)
    if target is sparse_coo and self.layout is strided and dense_dim is not None:
        return ops.to_sparse(self, self.dim() - dense_dim)
    if self.layout is not strided and not coo.is_sparse(self) and not is_compressed(self):
        raise RuntimeError(f"{what}(): expected a strided or a sparse tensor, but got {self.layout}")
    blocksize = (blocksize, blocksize) if isinstance(blocksize, int) else blocksize
    given = None if blocksize is None else tuple(int(each) for each in blocksize)
    if given is not None and not is_blocked:
        raise RuntimeError(
            f"{what} for {self.layout} to {target} conversion does not use the specified blocksize\n"
            "Hint: sparse_bsr and sparse_bsc have blocks"
        )
    own = record_of(self).block if is_compressed(self) else None
    if is_blocked:
        if given is None and own is None:
            raise RuntimeError(f"{what} for {self.layout} to {target} conversion requires blocksize specified.")
        if given is not None and (len(given) != 2 or min(given) < 1):
            raise RuntimeError(f"{what}: blocksize needs to be a tuple of size 2 of positive ints, but got {given}")
    rank, dense = self.dim(), self.dense_dim() if self.layout is not strided else (dense_dim or 0)
    if self.layout is not strided and dense_dim not in (None, dense):
        raise RuntimeError(
            f"{what}: conversion from {self.layout} to {target} needs dense_dim {dense}, that of the tensor, not {dense_dim}"
        )
    sparse = rank - dense
    if dense < 0 or sparse < 2:
        raise RuntimeError(
            f"{what}: the layout {target} needs 2 dimensions besides {dense} dense ones, but the tensor has {rank}"
        )
    batch = sparse - 2
    block = given or own
    if is_blocked and block is not None and target is not sparse_coo:
        for dim, step in enumerate(block):
            if self.shape[batch + dim] % step:
                raise RuntimeError(
                    f"{what}: tensor sparse size {list(self.shape[batch : batch + 2])} must be divisible by given blocksize"
                    f" {list(block)}"
                )
    if is_compressed(self) and target is self.layout and block == own:
        return self
    return convert(self, target, block if is_blocked else (), dense)
