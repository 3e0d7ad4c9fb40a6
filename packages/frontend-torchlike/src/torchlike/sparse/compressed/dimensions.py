"""Dimensions of compressed tensors, exchanged, taken out and resized."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dispatch_core as dc

from ...functions.operator_functions import FUNCTIONS
from ...tensors.tensor import Tensor, wrap
from ...values.size import check_dim
from . import places
from .rules import become
from .tensor import (
    COMPRESSED,
    TRANSPOSED,
    is_compressed,
    record_of,
    replace_values,
    wrap_compressed,
)


def transpose(op: Any, self: Tensor, one: int, other: int) -> Tensor:
    """Exchange two dimensions of the batch, the two of the matrices, whose layout changes, or two dense ones."""
    record = record_of(self)
    rank, split = len(record.size), len(record.batch)
    first, second = (check_dim(each, rank) % rank for each in (one, other))
    kinds = ["Batch" if each < split else "Sparse" if each < split + 2 else "Dense" for each in (first, second)]
    if kinds[0] != kinds[1]:
        raise RuntimeError(
            "transpose(): can only transpose dimensions of the same type (Batch, Sparse, Dense), got"
            f" {first}({kinds[0]}) and {second}({kinds[1]})"
        )
    size = list(record.size)
    size[first], size[second] = size[second], size[first]
    compressed, plain, values, wanted = record.compressed, record.plain, record.values, record.layout
    if first == second:
        return replace_values(record, values)
    if kinds[0] == "Batch":
        compressed, plain, values = (each.transpose(first, second) for each in (compressed, plain, values))
    elif kinds[0] == "Sparse":
        wanted = TRANSPOSED[wanted]
        values = values if record.block is None else values.transpose(split + 1, split + 2)
    else:
        step = values.dim() - rank
        values = values.transpose(first + step, second + step)
    return wrap_compressed(compressed, plain, values, size, wanted)


def transpose_matrix(op: Any, self: Tensor) -> Tensor:
    """Exchange the dimensions of a matrix."""
    if len(record_of(self).size) != 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {len(record_of(self).size)}D")
    return transpose(op, self, 0, 1)


def permute(op: Any, self: Tensor, dims: list[int]) -> Tensor:
    """Bring the dimensions of each kind into another order."""
    rank = len(record_of(self).size)
    order = [check_dim(each, rank) % rank for each in dims]
    if sorted(order) != list(range(rank)):
        raise RuntimeError(f"permute(): {dims} is no order of {rank} dimensions")
    found, now = self, list(range(rank))
    for place, wanted in enumerate(order):
        other = now.index(wanted)
        now[place], now[other] = now[other], now[place]
        found = transpose(op, found, place, other)
    return found


def select(op: Any, self: Tensor, dim: int, index: int) -> Tensor:
    """Return a matrix of the batch, a row or column as a tensor of coordinates, or a part of the dense dimensions."""
    record = record_of(self)
    rank, split = len(record.size), len(record.batch)
    dim = check_dim(dim, rank) % rank
    if not -record.size[dim] <= index < record.size[dim]:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(record.size)} at dimension {dim}"
        )
    size = record.size[:dim] + record.size[dim + 1 :]
    if dim < split:
        return wrap(
            COMPRESSED.replace(COMPRESSED.map_components(lambda each: each.select(dim, index), record), size=size)
        )
    if dim < split + 2:
        found: Tensor = op(places.to_coo(self), dim, index)
        return found
    values = record.values.select(dim + record.values.dim() - rank, index)
    return wrap_compressed(record.compressed, record.plain, values, size, record.layout)


def unbind(op: Any, self: Tensor, dim: int = 0) -> list[Tensor]:
    """Return all parts along a dimension."""
    aten = dc.ops.aten.select.int
    size = record_of(self).size
    place = check_dim(dim, len(size)) % len(size)
    return [select(aten, self, place, number) for number in range(size[place])]


def resize(op: Any, self: Tensor, size: Sequence[int], memory_format: Any = None) -> Tensor:
    """Change the sizes in place: rows, or columns, are added or taken away at the end; the other size may only grow."""
    record, wanted = record_of(self), tuple(size)
    split = len(record.batch)
    lines, wide = (split, split + 1) if record.is_by_rows else (split + 1, split)
    others = [each for each in range(len(wanted)) if each not in (lines, wide)]
    if (
        memory_format is not None
        or len(wanted) != len(record.size)
        or any(wanted[each] != record.size[each] for each in others)
    ):
        raise RuntimeError(
            f"resize_: expected another size of the matrices alone, from {list(record.size)}, but got {list(wanted)}"
        )
    if wanted[wide] < record.size[wide] and record.count:
        raise RuntimeError(
            f"resize_: elements may be lost where dimension {wide} shrinks from {record.size[wide]} to {wanted[wide]}"
        )
    block = record.block or (1, 1)
    if wanted[split] % block[0] or wanted[split + 1] % block[1]:
        raise RuntimeError(f"resize_: the sizes {list(wanted)} are no multiples of the blocks {list(block)}")
    count = wanted[lines] // block[lines - split] + 1
    kept = record.compressed[..., :count]
    if (missing := count - dc.shape(kept)[-1]) > 0:
        kept = FUNCTIONS["cat"]([kept, kept[..., -1:].expand(*record.batch, missing)], -1)
    left = {int(each) for each in kept[..., -1].reshape(-1).tolist()}
    if len(left) > 1:
        raise RuntimeError("resize_: the matrices of the batch would have different numbers of elements")
    number = left.pop() if left else 0
    plain, values = (each.narrow(split, 0, number) for each in (record.plain, record.values))
    return become(self, wrap_compressed(kept, plain, values, wanted, record.layout))


def resize_alike(op: Any, self: Tensor, template: Tensor, memory_format: Any = None) -> Tensor:
    """Take the sizes of another compressed tensor."""
    if not is_compressed(self) or self.layout is not template.layout:
        raise RuntimeError(
            f"{op.packet.name}: expected tensors of one layout, but got {self.layout} and {template.layout}"
        )
    return self if self.shape == template.shape else resize(op, self, dc.shape(template))
