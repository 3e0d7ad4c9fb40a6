"""The methods of tensors for the sparse layout."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import dispatch_core as dc

from ..tensors.tensor import Tensor
from ..values.layouts import refuse_layout, strided
from .construction import to_sparse
from .operators import coalesce, ops
from .tensor import expect_sparse, is_sparse, record_of

__all__ = [
    "_coalesced_",
    "_dimI",
    "_dimV",
    "_indices",
    "_nnz",
    "_values",
    "coalesce",
    "dense_dim",
    "indices",
    "is_coalesced",
    "sparse_dim",
    "sparse_mask",
    "to_dense",
    "to_sparse",
    "to_sparse_coo",
    "values",
]


def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """Return a strided tensor, itself where it is one (source: ``torch.Tensor.to_dense``).

    The gradient has the places of the tensor, and all places with ``masked_grad=False``.
    """
    if not is_sparse(self):
        if self.layout is not strided:
            refuse_layout(self, "to_dense()")
        return self if dtype is None else self.to(dtype)
    if dtype is not None:
        raise RuntimeError("dtype argument is not supported by sparse_to_dense\nHint: to_dense().to(dtype)")
    found: Tensor = ops.to_dense(self, masked_grad is not False)
    return found


def to_sparse_coo(self: Tensor) -> Tensor:
    """Return the elements that are not zero, by their coordinates (source: ``torch.Tensor.to_sparse_coo``)."""
    found: Tensor = to_sparse(self)
    return found


def is_coalesced(self: Tensor) -> bool:
    """Return whether the places are sorted and differ, as far as is known (source: ``torch.Tensor.is_coalesced``)."""
    return expect_sparse(self, "is_coalesced").is_coalesced


def _coalesced_(self: Tensor, coalesced: bool) -> Tensor:
    """Set whether the places count as sorted and different, unseen (source: ``torch.Tensor._coalesced_``)."""
    self._dispatch_data = replace(expect_sparse(self, "_coalesced_"), is_coalesced=coalesced)
    return self


def indices(self: Tensor) -> Tensor:
    """Return the places of a coalesced tensor, a column each (source: ``torch.Tensor.indices``)."""
    return _expect_coalesced(self, "indices").indices


def values(self: Tensor) -> Tensor:
    """Return the elements of a coalesced tensor, with its history (source: ``torch.Tensor.values``)."""
    _expect_coalesced(self, "values")
    found: Tensor = ops.values(self)
    return found


def _expect_coalesced(self: Tensor, what: str) -> Any:
    words = "sparse tensor layout" if what == "values" else "sparse coordinate tensor layout"
    record = expect_sparse(self, what, words)
    if not record.is_coalesced:
        raise RuntimeError(f"Cannot get {what} on an uncoalesced tensor, please call .coalesce() first")
    return record


def _indices(self: Tensor) -> Tensor:
    """Return the places, sorted or not."""
    return _need(self, "_indices").indices


def _values(self: Tensor) -> Tensor:
    """Return the elements without history, each place's several times where it is there several times."""
    return _need(self, "_values").values


def _nnz(self: Tensor) -> int:
    """Return the number of elements that are there."""
    return _need(self, "_nnz").count


def _need(self: Tensor, what: str) -> Any:
    if not is_sparse(self):
        raise NotImplementedError(
            f"{what}: expected a tensor of layout torchlike.sparse_coo, but got {self.layout}\nHint: to_sparse() makes one"
        )
    return record_of(self)


def sparse_dim(self: Tensor) -> int:
    """Return the number of sparse dimensions, none for a strided tensor (source: ``torch.Tensor.sparse_dim``)."""
    return record_of(self).sparse_dim if is_sparse(self) else 0


def dense_dim(self: Tensor) -> int:
    """Return the number of dense dimensions, all for a strided tensor (source: ``torch.Tensor.dense_dim``)."""
    return self.dim() - sparse_dim(self)


def _dimI(self: Tensor) -> int:  # noqa: N802  # torch's name
    """Return the number of sparse dimensions."""
    return sparse_dim(self)


def _dimV(self: Tensor) -> int:  # noqa: N802  # torch's name
    """Return the number of dense dimensions."""
    return dense_dim(self)


def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """Return the elements in the places of a sparse tensor (source: ``torch.Tensor.sparse_mask``)."""
    if not is_sparse(mask):
        raise NotImplementedError("sparse_mask(): expected a sparse mask\nHint: mask.to_sparse() makes one")
    if dc.shape(self) != dc.shape(mask):
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(self.shape)} but mask has size"
            f" {list(mask.shape)}"
        )
    found: Tensor = ops.sparse_mask(self, mask)
    return found
