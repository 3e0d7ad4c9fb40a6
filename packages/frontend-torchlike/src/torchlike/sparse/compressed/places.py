"""The places of compressed tensors counted out, and compressed tensors of places: the ground of all conversions.

Elements of every layout become `Entries`, one for each element or block, and these become any layout, by operators on the
components: nothing here needs SciPy, and the components may be on any device.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType

from ...creation.factories import FACTORIES
from ...functions.arrangements import unique
from ...functions.operator_functions import FUNCTIONS
from ...tensors.tensor import Tensor
from ...values.layouts import layout
from .. import tensor as coo
from ..matrices import add_up
from .tensor import LAYOUTS, Compressed, record_of, wrap_compressed


@dataclass
class Entries:
    """Elements, or blocks, one after the other: the matrix of the batch, row and column of each, and the values.

    ``block`` is None for elements; values have the block's two dimensions behind the first, then ``dense`` ones. ``size`` is
    that of the whole tensor, ``batch`` the sizes of its batch.
    """

    matrices: Tensor
    rows: Tensor
    columns: Tensor
    values: Tensor
    block: tuple[int, int] | None
    batch: tuple[int, ...]
    size: tuple[int, ...]

    @property
    def dense(self) -> tuple[int, ...]:
        """Return the sizes of the dense dimensions."""
        return self.size[len(self.batch) + 2 :]

    @property
    def grid(self) -> tuple[int, int]:
        """Return the numbers of rows and columns, of blocks where there are any."""
        return _count_blocks(self.size[len(self.batch) :], self.block)

    @property
    def numbers(self) -> Tensor:
        """Return the places counted through, row by row, matrix by matrix."""
        rows, columns = self.grid
        return (self.matrices * rows + self.rows) * columns + self.columns


def _count_blocks(sizes: Sequence[int], block: tuple[int, int] | None) -> tuple[int, int]:
    high, wide = block or (1, 1)
    return sizes[0] // high, sizes[1] // wide


def list_entries(tensor: Tensor) -> Entries:
    """Return the elements, or blocks, of a compressed tensor in their order."""
    return _spread(record_of(tensor))


def _spread(record: Compressed) -> Entries:
    device, count, total = record.values.device, record.count, prod(record.batch)
    lines = record.grid[0 if record.is_by_rows else 1]
    counts = record.compressed.long().diff().reshape(-1)
    numbers = FACTORIES["arange"](total * lines, device=device).repeat_interleave(counts)
    matrices, majors = FUNCTIONS["floor_divide"](numbers, max(lines, 1)), numbers % max(lines, 1)
    minors = record.plain.long().reshape(-1)
    rows, columns = (majors, minors) if record.is_by_rows else (minors, majors)
    block: Any = record.block
    values = record.values.reshape(total * count, *(block or ()), *record.dense)
    return Entries(matrices, rows, columns, values, block, record.batch, record.size)


def list_nonzero(tensor: Tensor, block: tuple[int, int] | None, dense_dim: int) -> Entries:
    """Return the elements of a strided tensor that are not zero, or the blocks that have such an element."""
    size = tuple(tensor.shape)
    split = len(size) - dense_dim - 2
    rows, columns = _count_blocks(size[split:], block)
    whole = arrange(tensor, block, split)
    there = whole != 0
    there = there.reshape(dc.shape(whole)[0], prod(dc.shape(whole)[1:])).any(1) if there.dim() > 1 else there
    numbers = there.nonzero().reshape(-1)
    return _place(numbers, whole.index_select(0, numbers), rows, columns, block, size[:split], size)


def _place(
    numbers: Tensor,
    values: Tensor,
    rows: int,
    columns: int,
    block: tuple[int, int] | None,
    batch: tuple[int, ...],
    size: tuple[int, ...],
) -> Entries:
    lines = FUNCTIONS["floor_divide"](numbers, max(columns, 1))
    matrices = FUNCTIONS["floor_divide"](lines, max(rows, 1))
    return Entries(matrices, lines % max(rows, 1), numbers % max(columns, 1), values, block, batch, size)


def arrange(tensor: Tensor, block: tuple[int, int] | None, split: int) -> Tensor:
    """Return the elements of a strided tensor, or its blocks, as rows in the order of `Entries.numbers`."""
    size = tuple(tensor.shape)
    batch, (rows, columns), rest = size[:split], size[split : split + 2], size[split + 2 :]
    if block is None:
        return tensor.reshape(prod(batch) * rows * columns, *rest)
    high, wide = block
    parts = tensor.reshape(prod(batch), rows // high, high, columns // wide, wide, *rest)
    return parts.transpose(2, 3).reshape(prod(batch) * (rows // high) * (columns // wide), high, wide, *rest)


def make_dense(entries: Entries) -> Tensor:
    """Return the strided tensor; values in one place add up."""
    (rows, columns), split = entries.grid, len(entries.batch)
    whole = add_up(entries.values, entries.numbers, prod(entries.batch) * rows * columns)
    if entries.block is not None:
        high, wide = entries.block
        parts = whole.reshape(prod(entries.batch), rows, columns, high, wide, *entries.dense)
        whole = parts.transpose(2, 3)
    return whole.reshape(*entries.size[:split], *entries.size[split:])


def split_blocks(entries: Entries) -> Entries:
    """Return the elements of blocks, zeros among them."""
    if entries.block is None:
        return entries
    high, wide = entries.block
    count = high * wide
    steps = FACTORIES["arange"](count, device=entries.values.device)
    inner = FUNCTIONS["floor_divide"](steps, wide), steps % wide

    def place(outer: Tensor, size: int, within: Tensor) -> Tensor:
        return (outer.reshape(-1, 1) * size + within.reshape(1, -1)).reshape(-1)

    return replace(
        entries,
        matrices=entries.matrices.repeat_interleave(count),
        rows=place(entries.rows, high, inner[0]),
        columns=place(entries.columns, wide, inner[1]),
        values=entries.values.reshape(dc.shape(entries.values)[0] * count, *entries.dense),
        block=None,
    )


def join_blocks(entries: Entries, block: tuple[int, int]) -> Entries:
    """Return the blocks that have an element; what a block lacks is zero."""
    high, wide = block
    rows, columns = _count_blocks(entries.size[len(entries.batch) :], block)
    lines = entries.matrices * rows + FUNCTIONS["floor_divide"](entries.rows, high)
    numbers, found = unique(lines * columns + FUNCTIONS["floor_divide"](entries.columns, wide), return_inverse=True)
    count = dc.shape(numbers)[0]
    within = (found * high + entries.rows % high) * wide + entries.columns % wide
    values = add_up(entries.values, within, count * high * wide).reshape(count, high, wide, *entries.dense)
    return _place(numbers, values, rows, columns, block, entries.batch, entries.size)


def compress(entries: Entries, wanted: layout, index_dtype: Any = ScalarType.Long) -> Tensor:
    """Return the compressed tensor of entries, which need no order but differ.

    Raises ``RuntimeError`` where the matrices of a batch have different numbers of entries.
    """
    is_by_rows = wanted in (LAYOUTS["csr"], LAYOUTS["bsr"])
    rows, columns = entries.grid
    majors, minors = (entries.rows, entries.columns) if is_by_rows else (entries.columns, entries.rows)
    lines, wide, total = (rows if is_by_rows else columns), (columns if is_by_rows else rows), prod(entries.batch)
    numbers, values = (entries.matrices * lines + majors) * wide + minors, entries.values
    if not (numbers[1:] > numbers[:-1]).all():
        numbers, order = numbers.sort()
        values = values.index_select(0, order)
    places = FUNCTIONS["floor_divide"](numbers, max(wide, 1))
    ones = FUNCTIONS["ones_like"](places)
    counts = places.new_zeros((total * lines,)).index_add(0, places, ones).reshape(total, lines)
    sums = counts.sum(1)
    if total and not (sums == sums[0]).all():
        raise RuntimeError(
            "Expect the same number of specified elements per batch.\n"
            f"Hint: the matrices of the batch have {min(sums.tolist())} to {max(sums.tolist())}; to_sparse() has no limit"
        )
    count = dc.shape(numbers)[0] // total if total else 0
    compressed = FUNCTIONS["cat"]([counts.new_zeros((total, 1)), counts.cumsum(1)], 1)
    return wrap_compressed(
        compressed.to(index_dtype).reshape(*entries.batch, lines + 1),
        (numbers % max(wide, 1)).to(index_dtype).reshape(*entries.batch, count),
        values.reshape(*entries.batch, count, *(entries.block or ()), *entries.dense),
        entries.size,
        wanted,
    )


def to_coo(tensor: Tensor) -> Tensor:
    """Return the tensor of coordinates with the elements of a compressed one, those of the batch in front."""
    entries = split_blocks(list_entries(tensor))
    return coo.wrap_coo(_list_places(entries), entries.values, entries.size, record_of(tensor).layout is LAYOUTS["csr"])


def _list_places(entries: Entries) -> Tensor:
    places = [entries.rows, entries.columns]
    if entries.batch:
        places = [*coo.places_of(entries.matrices, entries.batch), *places]
    return FUNCTIONS["stack"](places)


def from_coo(tensor: Tensor, wanted: layout, block: tuple[int, int] | None, batch_dim: int) -> Tensor:
    """Return a compressed tensor of one of coordinates, whose first ``batch_dim`` sparse dimensions are the batch."""
    record = coo.record_of(dc.ops.sparse.coalesce(tensor))
    batch = record.size[:batch_dim]
    rows, columns = FUNCTIONS["unbind"](record.indices[batch_dim:], 0)
    matrices = coo.count_through(record.indices[:batch_dim], batch) if batch else FUNCTIONS["zeros_like"](rows)
    entries = Entries(matrices, rows, columns, record.values, None, batch, record.size)
    return compress(entries if block is None else join_blocks(entries, block), wanted)


def gather(source: Tensor, record: Compressed) -> Tensor:
    """Return the elements of a strided tensor, or one of coordinates, in the places of a record, as its values lie."""
    entries = _spread(record)
    places = _list_places(split_blocks(entries))
    return coo.gather(source, places).reshape(dc.shape(record.values))
