"""Work on single chunks, on workers: tasks name this module, which they have installed."""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatch_aten.errors import DimensionError


def identity(block: Any) -> Any:
    """Return a chunk as it is."""
    return block


def check_block(index: Any, size: int, dim: int, operator: str) -> Any:
    """Return a chunk of positions, which may count from the end; raises ``DimensionError`` for one out of range."""
    wrong = index[(index < -size) | (index >= size)]
    if wrong.size:
        text = f"index {wrong.flat[0]} is out of bounds for dimension {dim} with size {size}"
        raise DimensionError(text, operator=operator)
    return index


def check_rows_block(index: Any, size: int, operator: str) -> Any:
    """Return a chunk of positions of rows, which are never negative; raises ``DimensionError`` for one out of range."""
    wrong = index[(index < 0) | (index >= size)]
    if wrong.size:
        hint = f"index {wrong.flat[0]} is asked for, and the size is {size}"
        raise DimensionError("index out of range in self", operator=operator, hint=hint)
    return index


def put_block(block: Any, *, position: Any, values: Any, add: bool, block_info: Any = None) -> Any:
    """Write rows to those positions that lie in a chunk of an array."""
    made = block.copy()
    start = block_info[0]["array-location"][0][0] if block_info else 0
    inside = (position >= start) & (position < start + len(block))
    place, rows = position[inside] - start, np.broadcast_to(values, position.shape + block.shape[1:])[inside]
    if add:
        np.add.at(made, place, rows)
    else:
        made[place] = rows
    return made


def take_block(block: Any, index: Any, dim: int) -> Any:
    """Choose elements along a dimension; raises ``DimensionError`` for positions out of range."""
    if index.size and not 0 <= index.min() <= index.max() < block.shape[dim]:
        wrong = index[(index < 0) | (index >= block.shape[dim])].flat[0]
        text = f"index {wrong} is out of bounds for dimension {dim} with size {block.shape[dim]}"
        raise DimensionError(text, operator="aten::gather")
    return np.take_along_axis(block, index, axis=dim)


def scatter_block(block: Any, index: Any, values: Any, dim: int, *, add: bool) -> Any:
    """Write, or add, elements along a dimension; raises ``DimensionError`` for positions out of range."""
    if index.size and not 0 <= index.min() <= index.max() < block.shape[dim]:
        wrong = index[(index < 0) | (index >= block.shape[dim])].flat[0]
        text = f"index {wrong} is out of bounds for dimension {dim} with size {block.shape[dim]}"
        raise DimensionError(text, operator="aten::scatter")
    made = block.copy()
    if add:
        places = list(np.ogrid[tuple([slice(size) for size in index.shape])])
        places[dim] = index
        np.add.at(made, tuple(places), values)
    else:
        np.put_along_axis(made, index, values, axis=dim)
    return made


def add_block(index: Any, values: Any, rows: int) -> Any:
    """Add rows of a chunk up at their positions: (1, rows, ...)."""
    made = np.zeros((1, rows, *values.shape[1:]), values.dtype)
    np.add.at(made[0], index, values)
    return made
