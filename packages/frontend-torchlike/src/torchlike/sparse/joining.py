"""Operators that join sparse tensors, and take parts of them."""

from __future__ import annotations

from typing import Any

import dispatch_core as dc

from ..creation.factories import FACTORIES
from ..functions.operator_functions import FUNCTIONS
from ..tensors.tensor import Tensor
from ..values.size import check_dim
from .tensor import find_all, is_sparse, record_of, wrap_coo


def concatenate(op: Any, tensors: list[Tensor], dim: int = 0) -> Tensor:
    """Join tensors along a dimension; along a dense one the values are as wide as the result, with zeros around."""
    if not all(is_sparse(each) for each in tensors):
        raise RuntimeError(
            "Concatenating sparse tensors, but a dense tensor was found\nHint: to_sparse() makes it sparse"
        )
    first = record_of(tensors[0])
    place = check_dim(dim, len(first.size)) % len(first.size)
    for each in tensors:
        record = record_of(each)
        same = [size for other, size in enumerate(record.size) if other != place]
        if record.sparse_dim != first.sparse_dim or same != [s for other, s in enumerate(first.size) if other != place]:
            raise RuntimeError(
                f"All tensors must have the same shape: {list(first.size)} (except in the concatenating dimension), but got"
                f" {list(record.size)}"
            )
    whole = sum(record_of(each).size[place] for each in tensors)
    places, values, start = [], [], 0
    for each in tensors:
        record = record_of(each)
        is_sparse_dim = place < first.sparse_dim
        places.append(_shift(record.indices, place, start) if is_sparse_dim else record.indices)
        values.append(
            record.values if is_sparse_dim else _widen(record.values, place - first.sparse_dim + 1, start, whole)
        )
        start += record.size[place]
    size = [whole if other == place else each for other, each in enumerate(first.size)]
    return wrap_coo(FUNCTIONS["cat"](places, 1), FUNCTIONS["cat"](values), size)


def _widen(values: Tensor, dim: int, start: int, whole: int) -> Tensor:
    def zeros(count: int) -> Tensor:
        return values.new_zeros([count if place == dim else size for place, size in enumerate(dc.shape(values))])

    parts = [zeros(start), values, zeros(whole - start - dc.shape(values)[dim])]
    found: Tensor = FUNCTIONS["cat"](parts, dim)
    return found


def _shift(indices: Tensor, dim: int, by: int) -> Tensor:
    rows = list(FUNCTIONS["unbind"](indices, 0))
    rows[dim] = rows[dim] + by
    return FUNCTIONS["stack"](rows)


def stack(op: Any, tensors: list[Tensor], dim: int = 0) -> Tensor:
    """Join tensors along a new dimension."""
    return concatenate(op, [unsqueeze(op, each, dim) for each in tensors], dim)


def unsqueeze(op: Any, self: Tensor, dim: int) -> Tensor:
    """Add a dimension of size 1."""
    record = record_of(self)
    rank = len(record.size)
    place = check_dim(dim, rank + 1) % (rank + 1)
    size = [*record.size[:place], 1, *record.size[place:]]
    if place > record.sparse_dim:
        return wrap_coo(
            record.indices, record.values.unsqueeze(place - record.sparse_dim + 1), size, record.is_coalesced
        )
    zeros = (
        FUNCTIONS["zeros_like"](record.indices[:1])
        if record.sparse_dim
        else record.indices.new_zeros((1, record.count))
    )
    parts = [record.indices[:place], zeros, record.indices[place:]]
    return wrap_coo(FUNCTIONS["cat"](parts), record.values, size)


def select(op: Any, self: Tensor, dim: int, index: int) -> Tensor:
    """Return one index of a dimension; strided where no sparse dimension is left."""
    record = record_of(self)
    rank = len(record.size)
    place = check_dim(dim, rank) % rank
    count = record.size[place]
    if not -count <= index < count:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(record.size)} at dimension {place}"
        )
    size = [each for other, each in enumerate(record.size) if other != place]
    if place >= record.sparse_dim:
        values = FUNCTIONS["select"](record.values, place - record.sparse_dim + 1, index)
        return wrap_coo(record.indices, values, size, record.is_coalesced)
    kept = (record.indices[place] == index % count).nonzero().reshape(-1)
    values = record.values.index_select(0, kept)
    if record.sparse_dim == 1:
        return values.sum(0, dtype=dc.dtype(values))
    rows = [row.index_select(0, kept) for other, row in enumerate(record.indices) if other != place]
    return wrap_coo(FUNCTIONS["stack"](rows), values, size, record.is_coalesced)


def select_indices(op: Any, self: Tensor, dim: int, index: Tensor) -> Tensor:
    """Return indices of a dimension in the order of a vector; those of a sparse one may count from the end."""
    record = record_of(self)
    rank = len(record.size)
    place = check_dim(dim, rank) % rank
    count, wanted = record.size[place], index.reshape(-1)
    least = -count if place < record.sparse_dim else 0
    for bad in wanted[(wanted < least) | (wanted >= count)].tolist():
        raise IndexError(
            f"index_select(): index contains {bad} that is out of range for tensor of size {list(record.size)} at dimension"
            f" {place}"
        )
    wanted = FUNCTIONS["where"](wanted < 0, wanted + count, wanted)
    length = dc.shape(wanted)[0]
    size = [length if other == place else each for other, each in enumerate(record.size)]
    if place >= record.sparse_dim:
        values = op(record.values, place - record.sparse_dim + 1, wanted)
        return wrap_coo(record.indices, values, size, record.is_coalesced)
    row, order = record.indices[place].sort(stable=True)
    numbers, places = find_all(row, wanted)
    kept = order.index_select(0, places)
    rows = list(record.indices.index_select(1, kept).unbind(0))
    rows[place] = numbers
    return wrap_coo(FUNCTIONS["stack"](rows), record.values.index_select(0, kept), size)


def copy_part(op: Any, self: Tensor, dim: int, start: int, length: int) -> Tensor:
    """Return some indices of a dimension that follow one another."""
    rank = len(dc.shape(self))
    count = dc.shape(self)[check_dim(dim, rank) % rank]
    if not (length >= 0 and 0 <= start <= count - length):
        raise RuntimeError(
            "Invalid range to narrow. range(start, start+length) must be a subset of range(0, "
            f"{count})\nHint: start is {start} and length {length}"
        )
    wanted = FACTORIES["arange"](start, start + length, device=self.device)
    found: Tensor = FUNCTIONS["index_select"](self, dim, wanted)
    return found


def unbind(op: Any, self: Tensor, dim: int = 0) -> list[Tensor]:
    """Return every index of a dimension."""
    rank = len(dc.shape(self))
    return [select(op, self, dim, index) for index in range(dc.shape(self)[check_dim(dim, rank)])]
