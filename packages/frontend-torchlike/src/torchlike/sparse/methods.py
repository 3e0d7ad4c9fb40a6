"""The methods of tensors for the sparse layout."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import dispatch_core as dc

from ..tensors.tensor import Tensor
from ..values.layouts import refuse_layout, sparse_bsc, sparse_bsr, sparse_csc, sparse_csr, strided
from .compressed.conversions import to_layout
from .compressed.tensor import is_compressed
from .compressed.tensor import record_of as compressed_record
from .construction import to_sparse
from .hybrid_products import smm, sspaddmm
from .operators import coalesce, ops
from .tensor import expect_sparse, is_sparse, record_of

__all__ = [
    "_coalesced_",
    "_dimI",
    "_dimV",
    "_indices",
    "_nnz",
    "_values",
    "ccol_indices",
    "coalesce",
    "col_indices",
    "crow_indices",
    "dense_dim",
    "indices",
    "is_coalesced",
    "resize_as_sparse_",
    "row_indices",
    "smm",
    "sparse_dim",
    "sparse_mask",
    "sspaddmm",
    "to_dense",
    "to_sparse",
    "to_sparse_bsc",
    "to_sparse_bsr",
    "to_sparse_coo",
    "to_sparse_csc",
    "to_sparse_csr",
    "values",
]


def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """Return a strided tensor, itself where it is one (source: ``torch.Tensor.to_dense``).

    The gradient has the places of the tensor, and all places with ``masked_grad=False``.
    """
    if not is_sparse(self) and not is_compressed(self):
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


def to_sparse_csr(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """Return the elements that are not zero in compressed rows (source: ``torch.Tensor.to_sparse_csr``)."""
    return to_layout(self, sparse_csr, None, dense_dim, "to_sparse_csr")


def to_sparse_csc(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """Return the elements that are not zero in compressed columns (source: ``torch.Tensor.to_sparse_csc``)."""
    return to_layout(self, sparse_csc, None, dense_dim, "to_sparse_csc")


def to_sparse_bsr(self: Tensor, blocksize: Any, dense_dim: int | None = None) -> Tensor:
    """Return the blocks that are not zero in compressed rows (source: ``torch.Tensor.to_sparse_bsr``)."""
    return to_layout(self, sparse_bsr, blocksize, dense_dim, "to_sparse_bsr")


def to_sparse_bsc(self: Tensor, blocksize: Any, dense_dim: int | None = None) -> Tensor:
    """Return the blocks that are not zero in compressed columns (source: ``torch.Tensor.to_sparse_bsc``)."""
    return to_layout(self, sparse_bsc, blocksize, dense_dim, "to_sparse_bsc")


def crow_indices(self: Tensor) -> Tensor:
    """Return the numbers of elements before each row (source: ``torch.Tensor.crow_indices``)."""
    return _find_indices(self, "crow_indices", "row")


def col_indices(self: Tensor) -> Tensor:
    """Return the column of each element, row by row (source: ``torch.Tensor.col_indices``)."""
    return _find_indices(self, "col_indices", "row")


def ccol_indices(self: Tensor) -> Tensor:
    """Return the numbers of elements before each column (source: ``torch.Tensor.ccol_indices``)."""
    return _find_indices(self, "ccol_indices", "column")


def row_indices(self: Tensor) -> Tensor:
    """Return the row of each element, column by column (source: ``torch.Tensor.row_indices``)."""
    return _find_indices(self, "row_indices", "column")


def _find_indices(self: Tensor, name: str, kind: str) -> Tensor:
    record = compressed_record(self) if is_compressed(self) else None
    if record is None or name not in record.names:
        raise RuntimeError(
            f"{name} expected sparse {kind} compressed tensor layout but got {self.layout}\n"
            f"Hint: to_sparse_{'csr' if kind == 'row' else 'csc'}() makes one"
        )
    found: Tensor = record.compressed if name == record.names[0] else record.plain
    return found.detach()


def resize_as_sparse_(self: Tensor, the_template: Tensor) -> Tensor:
    """Take the sizes of another sparse tensor of the same layout (source: ``torch.Tensor.resize_as_sparse_``)."""
    for each in (self, the_template):
        if not is_sparse(each) and not is_compressed(each):
            raise RuntimeError(f"resize_as_sparse_: expected sparse tensors, but got one of layout {each.layout}")
    found: Tensor = dc.ops.aten.resize_as_.default(self, the_template)
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
    """Return the elements of a coalesced or compressed tensor, with its history (source: ``torch.Tensor.values``)."""
    if not is_compressed(self):
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
    count: int = (compressed_record(self) if is_compressed(self) else _need(self, "_nnz")).count
    return count


def _need(self: Tensor, what: str) -> Any:
    if not is_sparse(self):
        raise NotImplementedError(
            f"{what}: expected a tensor of layout torchlike.sparse_coo, but got {self.layout}\nHint: to_sparse() makes one"
        )
    return record_of(self)


def sparse_dim(self: Tensor) -> int:
    """Return the number of sparse dimensions, none for a strided tensor (source: ``torch.Tensor.sparse_dim``)."""
    return record_of(self).sparse_dim if is_sparse(self) else 2 if is_compressed(self) else 0


def dense_dim(self: Tensor) -> int:
    """Return the number of dense dimensions, all for a strided tensor (source: ``torch.Tensor.dense_dim``)."""
    return len(compressed_record(self).dense) if is_compressed(self) else self.dim() - sparse_dim(self)


def _dimI(self: Tensor) -> int:  # noqa: N802  # torch's name
    """Return the number of sparse dimensions."""
    return sparse_dim(self)


def _dimV(self: Tensor) -> int:  # noqa: N802  # torch's name
    """Return the number of dense dimensions."""
    return dense_dim(self)


def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """Return the elements in the places of a sparse tensor (source: ``torch.Tensor.sparse_mask``)."""
    if not is_sparse(mask) and not is_compressed(mask):
        raise NotImplementedError("sparse_mask(): expected a sparse mask\nHint: mask.to_sparse() makes one")
    if dc.shape(self) != dc.shape(mask):
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(self.shape)} but mask has size"
            f" {list(mask.shape)}"
        )
    found: Tensor = ops.sparse_mask(self, mask)
    return found
