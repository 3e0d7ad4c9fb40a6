"""Count and choose among the elements of chunks, on workers: tasks name this module, which they have installed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dispatch_aten.errors import OperatorError

from .blocks import Hole, run_on_chunks


def count_values(chunk: Any, weights: Any = None, *, minlength: int, result: Any) -> Any:
    """Count each value of a chunk, or add its weights up; raises ``OperatorError`` for a negative value."""
    if chunk.size and chunk.min() < 0:
        raise OperatorError(
            "bincount only supports 1-d non-negative integral inputs.", operator="aten::bincount", argument="self"
        )
    return np.bincount(chunk.astype(np.int64), weights, minlength).astype(result)


def count_bins(chunk: Any, *, bins: int, low: float, high: float) -> Any:
    """Count the elements of a chunk in equal intervals."""
    if chunk.dtype.kind == "f" and np.isnan(chunk).any():
        chunk = chunk[~np.isnan(chunk)]
    args = (Hole(0), bins, low, high)
    return run_on_chunks(chunk, operator="aten::histc", args=args, options=()).astype(np.int64)


def keep(part: Any, axis: Any = None, keepdims: Any = None) -> Any:
    """Return a part as it is."""
    return part


def _flatten(parts: Any) -> Iterator[Any]:
    if isinstance(parts, list):
        for each in parts:
            yield from _flatten(each)
    else:
        yield parts


def add_counts(parts: Any, axis: Any = None, keepdims: Any = None) -> Any:
    """Add counts of values up, of which each may be longer.

    >>> add_counts([np.array([1]), np.array([1, 2])])
    array([2, 2])
    """
    found = list(_flatten(parts))
    total = np.zeros(max(len(each) for each in found), found[0].dtype)
    for each in found:
        total[: len(each)] += each
    return total


def find_distinct(chunk: Any) -> Any:
    """Return the distinct values of a chunk, sorted, and how often each is there; no nan equals another."""
    return np.unique(chunk, return_counts=True, equal_nan=False)


def merge_distinct(parts: Any, axis: Any = None, keepdims: Any = None) -> Any:
    """Merge distinct values, and add their counts up.

    >>> merge_distinct([(np.array([1, 2]), np.array([1, 1])), (np.array([2]), np.array([4]))])
    (array([1, 2]), array([1, 5]))
    """
    found = list(_flatten(parts))
    if len(found) == 1:
        return found[0]
    values, counts = (np.concatenate([each[part] for each in found]) for part in (0, 1))
    distinct, inverse = np.unique(values, return_inverse=True, equal_nan=False)
    total = np.zeros(len(distinct), np.int64)
    np.add.at(total, inverse, counts)
    return distinct, total


def choose_part(both: Any, part: int) -> Any:
    """Return one of two arrays."""
    return both[part]


def find_places(chunk: Any, both: Any) -> Any:
    """Return the place of each element among the distinct values."""
    return np.searchsorted(both[0], chunk).astype(np.int64)


def find_largest(chunk: Any, start: Any, *, k: int, axis: int, largest: bool, part: int) -> Any:
    """Return the ``k`` largest or smallest elements of a chunk along an axis, in order, or their positions in the array."""
    count = min(k, chunk.shape[axis])
    args = (Hole(0), count, axis, largest, True)
    found = run_on_chunks(chunk, operator="aten::topk", args=args, options=(), part=part)
    return found + int(start[0]) if part else found
