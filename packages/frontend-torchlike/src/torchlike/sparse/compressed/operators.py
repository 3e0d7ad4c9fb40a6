"""The operators of compressed tensors alone, of the namespace ``sparse`` too, and what its others do with such tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import dispatch_core as dc

from ...functions.operator_functions import FUNCTIONS
from ...tensors.tensor import Tensor
from ...values.layouts import layout, strided
from .. import tensor as coo
from ..operators import define, ops
from . import places
from .tensor import LAYOUTS, is_compressed, record_of, replace_values, widen_indices, wrap_compressed

NAMES: Final = {value: name for name, value in LAYOUTS.items()}
_SCHEMAS: Final = {
    "_compressed_tensor": "(Tensor compressed, Tensor plain, Tensor values, int[] size, str layout) -> Tensor",
    "_to_layout": "(Tensor self, str layout, int[] blocksize, int dense_dim) -> Tensor",
    "sampled_addmm": "(Tensor self, Tensor mat1, Tensor mat2, Scalar beta, Scalar alpha) -> Tensor",
}
_GRADIENTS: Final = {
    "_compressed_tensor": {"values": "values(mask(grad, result))"},
    "_to_layout": {"self": "layout_gradient(grad, self)"},
    "sampled_addmm": {
        "self": "maybe_multiply(grad, beta)",
        "mat1": "maybe_multiply(matmul(mask(grad, self), transpose(mat2, -2, -1)), alpha)",
        "mat2": "maybe_multiply(matmul(transpose(mat1, -2, -1), mask(grad, self)), alpha)",
    },
}


def _make(compressed: Tensor, plain: Tensor, values: Tensor, size: list[int], layout: str) -> Tensor:
    return wrap_compressed(compressed, plain, values.detach(), size, LAYOUTS[layout])


def _to_layout(self: Tensor, layout: str, blocksize: list[int], dense_dim: int) -> Tensor:
    """Convert to ``layout``, that of coordinates by the name "coo"; an empty ``blocksize`` is that of the tensor."""
    self = self.detach()
    wanted: Any = LAYOUTS.get(layout)
    block: Any = tuple(blocksize) or (record_of(self).block if is_compressed(self) else None)
    if wanted not in (LAYOUTS["bsr"], LAYOUTS["bsc"]):
        block = None
    if not is_compressed(self):
        if wanted is None:
            return self if coo.is_sparse(self) else ops.to_sparse(self, self.dim() - dense_dim)
        if coo.is_sparse(self):
            return places.from_coo(self, wanted, block, coo.record_of(self).sparse_dim - 2)
        return places.compress(places.list_nonzero(self, block, dense_dim), wanted)
    record = record_of(self)
    if wanted is None:
        return places.to_coo(self)
    if (wanted, block) == (record.layout, record.block):
        return replace_values(record, record.values)
    entries = places.list_entries(self)
    if block != record.block:
        entries = places.split_blocks(entries)
        entries = entries if block is None else places.join_blocks(entries, block)
    return places.compress(entries, wanted, dc.dtype(record.compressed))


def _sample(self: Tensor, mat1: Tensor, mat2: Tensor, beta: Any, alpha: Any) -> Tensor:
    """Compute the elements of the product in the places of ``self`` alone, each of a row and a column."""
    record = record_of(self)
    entries = places.split_blocks(places.list_entries(self))
    rows, columns = (
        each.reshape(-1, dc.shape(each)[-1]).index_select(0, entries.matrices * size + numbers)
        for each, size, numbers in (
            (mat1, record.size[-2], entries.rows),
            (mat2.transpose(-2, -1), record.size[-1], entries.columns),
        )
    )
    product = (rows * columns).sum(1).reshape(dc.shape(record.values)) * alpha
    return widen_indices(replace_values(record, product if beta == 0 else product + record.values * beta))


def convert(self: Tensor, wanted: layout, blocksize: Any = (), dense_dim: int = 0) -> Tensor:
    """Return a tensor in another sparse layout, with its history."""
    found: Tensor = ops._to_layout(self, NAMES.get(wanted, "coo"), list(blocksize or ()), dense_dim)
    return found


def convert_like(self: Tensor, template: Tensor) -> Tensor:
    """Return a tensor in the layout of another, with its sizes of blocks and number of dense dimensions."""
    if template.layout is strided:
        return self if self.layout is strided else ops.to_dense(self, True)
    if is_compressed(template):
        record = record_of(template)
        return convert(self, record.layout, record.block, len(record.dense))
    return self if coo.is_sparse(self) else convert(self, coo.Coo.layout, (), template.dense_dim())


def remake(self: Tensor, values: Tensor) -> Tensor:
    """Return a tensor with the places of a compressed one and other values, with their history."""
    record = record_of(self)
    found: Tensor = ops._compressed_tensor(
        record.compressed, record.plain, values, list(record.size), NAMES[record.layout]
    )
    return found


def _to_dense(self: Tensor, masked_grad: bool) -> Tensor:
    record = record_of(self)
    if self.is_meta:  # where the places are in no values
        return record.values.new_zeros(record.size)
    return places.make_dense(places.list_entries(self))


def _values(self: Tensor) -> Tensor:
    return record_of(self).values.detach()


def _mask(self: Tensor, mask: Tensor) -> Tensor:
    source = places.to_coo(self) if is_compressed(self) else self
    if not is_compressed(mask):
        return ops.sparse_mask(source, mask)
    record = record_of(mask)
    if mask.is_meta:  # where the places are in no values
        return replace_values(record, record.values.new_zeros(dc.shape(record.values), dtype=dc.dtype(self)))
    if self.layout is record.layout is LAYOUTS["csr"]:  # as torch: in the places that both have
        ones = replace_values(record, FUNCTIONS["ones_like"](record.values).to(dc.dtype(self)))
        return places.from_coo(source * places.to_coo(ones), record.layout, None, len(record.batch))
    return widen_indices(replace_values(record, places.gather(source, record)))


def _addmm(self: Tensor, mat1: Tensor, mat2: Tensor, beta: Any, alpha: Any) -> Tensor:
    found: Tensor = FUNCTIONS["addmm"](self, mat1, mat2, beta=beta, alpha=alpha)
    return found


#: The kernels of the namespace's operators under the keys of compressed tensors.
KERNELS: Final[dict[str, Callable[..., Any]]] = {
    "_to_layout": _to_layout,
    "sampled_addmm": _sample,
    "sparse_mask": _mask,
    "_sparse_addmm": _addmm,
    "to_dense": _to_dense,
    "values": _values,
}
_library: Final = define(_SCHEMAS, _GRADIENTS, {**KERNELS, "_compressed_tensor": _make})
