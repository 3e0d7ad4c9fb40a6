"""Elements by masks and by indices: a row for each that was there, and writes to places of the rows."""

from __future__ import annotations

from typing import Any

import dispatch_core as dc

from ..functions.operator_functions import FUNCTIONS
from ..tensors.tensor import Tensor
from .operators import Operator, refuse_gaps, strided_only
from .padding import pad, unpad
from .pointwise import align
from .tensor import Jagged, NestedTensor, nest, wrap_values


def select_by_mask(operator: Operator, values: tuple[Any, ...]) -> NestedTensor:
    """Return the elements where a mask of the same rows is true, as rows of their own."""
    tensor, mask = values
    if not isinstance(tensor, NestedTensor) or tensor.dim() != 2:
        operator.refuse("only rows of one dimension each are supported", "x.values().masked_select(mask) is a vector")
    record = tensor._dispatch_data
    refuse_gaps(operator, record)
    chosen = align(operator, tensor, mask).expand_as(record.values)
    ends = FUNCTIONS["cat"]([record.offsets.new_zeros(1), chosen.cumsum(0).to(record.offsets.dtype)])
    return nest(operator([record.values, chosen]), FUNCTIONS["index_select"](ends, 0, record.offsets))


def put_items(operator: Operator, values: tuple[Any, ...]) -> NestedTensor:
    """Write to places, which count in the batch and in the rows; in place, or to a copy.

    Raises ``RuntimeError`` for places beyond a row.
    """
    given = operator.bind(values)
    tensor, indices = given["self"], list(given["indices"])
    if not isinstance(tensor, NestedTensor):
        operator.refuse("a strided tensor is not written to at places of a nested one")
    strided_only(operator, [indices, given["values"]])
    record = tensor._dispatch_data
    if len(indices) > tensor.dim():
        operator.refuse(f"too many indices: {len(indices)} for {tensor.dim()} dimensions")
    if not indices or indices[0] is None or len(indices) <= record.ragged or indices[record.ragged] is None:
        refuse_gaps(operator, record)
        padded = pad(record, 0, record.find_longest())
        found = operator.call(given | {"self": padded})
        changed = unpad(record, found)
        return wrap_values(record, changed) if found is not padded else _become(tensor, changed)
    places = _find_places(operator, record, indices[0], indices[record.ragged])
    inner = [*indices[1 : record.ragged], places, *indices[record.ragged + 1 :]]
    found = operator.call(given | {"self": record.values, "indices": inner})
    return tensor if found is record.values else wrap_values(record, found)


def _become(tensor: NestedTensor, values: Tensor) -> NestedTensor:
    tensor._dispatch_data.values.copy_(values)
    return tensor


def _find_places(operator: Operator, record: Jagged, rows: Tensor, items: Tensor) -> Tensor:
    """Return the places in the packed dimension of items of rows; negative ones count from a row's end."""
    batch = dc.shape(record.offsets)[0] - 1
    rows = FUNCTIONS["where"](rows < 0, rows + batch, rows)
    lengths = record.row_lengths()[rows]
    if not lengths.is_meta and bool(((items >= lengths) | (items < -lengths)).any().item()):
        operator.refuse("some indices in the ragged dimension are out of bounds")
    return record.offsets[rows] + FUNCTIONS["where"](items < 0, items + lengths, items)
