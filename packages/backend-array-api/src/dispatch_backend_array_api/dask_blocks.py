"""Work on single chunks, on workers: what is sent there names this module, which they have installed."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["put_block", "scatter_block", "take_block"]


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
    """Choose elements along a dimension; raises ``IndexError`` for positions out of range."""
    if index.size and not 0 <= index.min() <= index.max() < block.shape[dim]:
        raise IndexError(f"index out of bounds for dimension {dim} with size {block.shape[dim]}")
    return np.take_along_axis(block, index, axis=dim)


def scatter_block(block: Any, index: Any, values: Any, dim: int, *, add: bool) -> Any:
    """Write, or add, elements along a dimension; raises ``IndexError`` for positions out of range."""
    if index.size and not 0 <= index.min() <= index.max() < block.shape[dim]:
        raise IndexError(f"index out of bounds for dimension {dim} with size {block.shape[dim]}")
    made = block.copy()
    if add:
        places = list(np.ogrid[tuple([slice(size) for size in index.shape])])
        places[dim] = index
        np.add.at(made, tuple(places), values)
    else:
        np.put_along_axis(made, index, values, axis=dim)
    return made
