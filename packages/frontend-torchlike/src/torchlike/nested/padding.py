"""Rows of equal length: nested tensors as strided ones, and back, by positions that are computed of the offsets."""

from __future__ import annotations

from typing import Any

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType

from ..creation.factories import FACTORIES
from ..functions.operator_functions import FUNCTIONS
from ..tensors.tensor import Tensor
from .tensor import Jagged, NestedTensor


def to_padded_tensor(input: Tensor, padding: float, output_size: Any = None, out: Any = None) -> Tensor:
    """Return a strided tensor with ``padding`` behind the ends of the rows (source: ``torch.nested.to_padded_tensor``).

    ``output_size`` may make the ragged dimension longer than the longest row. Raises ``RuntimeError`` where it is shorter,
    or where other sizes differ from the tensor's.

    >>> import torchlike
    >>> x = torchlike.nested.nested_tensor([[1., 2.], [3.]], layout=torchlike.jagged)
    >>> to_padded_tensor(x, 0.)
    tensor([[1., 2.],
            [3., 0.]])
    """
    if not isinstance(input, NestedTensor):
        raise RuntimeError("to_padded_tensor(): expected a nested tensor\nHint: the tensor is strided already")
    if out is not None:
        raise RuntimeError("to_padded_tensor(): out= is not supported for nested tensors of layout torchlike.jagged")
    record = input._dispatch_data
    longest = record.find_longest()
    if output_size is not None:
        wanted, own = tuple(output_size), record.shape
        rest = [
            size == other for dim, (size, other) in enumerate(zip(wanted, own, strict=False)) if dim != record.ragged
        ]
        if len(wanted) != len(own) or not all(rest):
            raise RuntimeError(f"to_padded_tensor(): output_size {wanted} does not fit a nested tensor of sizes {own}")
        if wanted[record.ragged] < longest:
            raise RuntimeError(
                "Value in output_size is less than NestedTensor padded size. Truncation is not supported."
            )
        longest = wanted[record.ragged]
    return pad(record, padding, longest)


def pad(record: Jagged, padding: Any, longest: int) -> Tensor:
    """Return the rows of a nested tensor with ``padding`` up to a length."""
    values, dim, batch = record.values, record.ragged - 1, dc.shape(record.offsets)[0] - 1
    packed = dc.shape(values)[dim]
    if not packed:
        # So that there is a place to read, of which no row has the element.
        sizes = [1 if each == dim else size for each, size in enumerate(dc.shape(values))]
        values = FUNCTIONS["cat"]([values, values.new_zeros(sizes)], dim)
    places = (record.offsets[:-1].unsqueeze(1) + _count(longest, record)).clamp(max=max(packed - 1, 0))
    rows = FUNCTIONS["index_select"](values, dim, places.reshape(-1))
    rows = rows.unflatten(dim, (batch, longest)).movedim(dim, 0)
    if not (values.dtype.is_floating_point or values.dtype.is_complex):
        padding = bool(padding) if values.dtype is ScalarType.Bool else int(padding)
    found: Tensor = rows.masked_fill(~_spread(is_filled(record, longest), rows, record.ragged), padding)
    return found


def is_filled(record: Jagged, longest: int) -> Tensor:
    """Return for each row and each place up to a length whether the row has an element there."""
    return _count(longest, record) < record.row_lengths().unsqueeze(1)


def unpad(record: Jagged, padded: Tensor) -> Tensor:
    """Return the values of nested tensors like ``record``, of rows of equal length in its ragged dimension."""
    rows, places = locate(record)
    longest = dc.shape(padded)[record.ragged]
    flat = padded.movedim(record.ragged, 1).flatten(0, 1)
    found = FUNCTIONS["index_select"](flat, 0, rows * longest + places.clamp(max=longest - 1))
    return found.movedim(0, record.ragged - 1)


def locate(record: Jagged) -> tuple[Tensor, Tensor]:
    """Return for each place in the packed dimension the number of its row, and the place in that row."""
    offsets = record.offsets
    places = _count(dc.shape(record.values)[record.ragged - 1], record)
    last = dc.shape(offsets)[0] - 2
    rows = FUNCTIONS["searchsorted"](offsets[1:].contiguous(), places, right=True).clamp(max=last)
    return rows, places - FUNCTIONS["index_select"](offsets, 0, rows)


def _count(count: int, record: Jagged) -> Tensor:
    return FACTORIES["arange"](count, dtype=record.offsets.dtype, device=record.offsets.device)


def _spread(mask: Tensor, rows: Tensor, ragged: int) -> Tensor:
    """Return a mask of (batch, length) that broadcasts with rows whose ragged dimension is ``ragged``."""
    batch, length = dc.shape(mask)
    size = [1] * rows.dim()
    size[0], size[ragged] = batch, length
    return mask.reshape(size)
