"""Single elements of a sorted order: the greatest, the k-th, the median and the most frequent, mostly found without sorting.

Of equal elements those are found that a stable sort would bring to the place.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from ...arrays import Array
from ...kernel_table import Kernel, KernelTable
from ..support.rule_kernels import make_kernel
from .ordering import as_rows, from_rows, has_nan, read_rows, sort_rows

KERNELS: Final = KernelTable()

#: Shorter rows are sorted, and smaller arrays: that takes fewer calls.
_SHORT, _SMALL = 128, 2048


def _is_worth_it(rows: Array) -> bool:
    return rows.shape[-1] >= _SHORT and rows.size >= _SMALL


def _top_places(rows: Array, k: int, largest: bool) -> Array | None:
    """Return the places of each row's ``k`` greatest or least elements, in their order; None where nan is among them."""
    rank = rows.shape[-1] - k if largest else k - 1
    limit = np.partition(rows, rank, -1)[..., rank : rank + 1]
    if limit.dtype.kind == "f" and np.isnan(limit).any():
        return None
    chosen = ~(rows <= limit) if largest else rows < limit
    tied = rows == limit
    left = k - np.count_nonzero(chosen, -1, keepdims=True)
    if (np.count_nonzero(tied, -1, keepdims=True) > left).any():
        tied &= np.cumsum(tied, -1) <= left
    chosen |= tied
    return chosen.nonzero()[-1].reshape(*rows.shape[:-1], k)


def _top_rows(rows: Array, k: int, largest: bool) -> tuple[Array, Array]:
    if k == 1 and rows.size:
        order = (rows.argmax if largest else rows.argmin)(-1, keepdims=True)
        values = read_rows(rows, order)
        if largest or not has_nan(values):  # argmin finds nan, which is the greatest
            return values, order
    places = _top_places(rows, k, largest) if 0 < 2 * k <= rows.shape[-1] and _is_worth_it(rows) else None
    if places is None:
        values, order = sort_rows(rows, descending=largest)
        return values[..., :k], order[..., :k]
    values, order = sort_rows(read_rows(rows, places), descending=largest)
    return values, read_rows(places, order)


def _topk(spec: Any, self: Array, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    if not self.ndim:
        return self.copy(), np.zeros((), np.int64)
    values, order = _top_rows(as_rows(self, dim), k, largest)
    return from_rows(values, dim), from_rows(order, dim)


def _at_rank(rows: Array, rank: int) -> tuple[Array, Array]:
    """Return the element at one place of each sorted row, and where it was; large arrays have no nan."""
    if not _is_worth_it(rows):
        values, order = sort_rows(rows)
        return values[..., rank : rank + 1], order[..., rank : rank + 1]
    limit = np.partition(rows, rank, -1)[..., rank : rank + 1]
    tied = rows == limit
    before = rank - np.count_nonzero(rows < limit, -1, keepdims=True)
    if before.any():
        tied = np.cumsum(tied, -1) > before
    order = tied.argmax(-1, keepdims=True)
    return read_rows(rows, order), order


def _kth_rows(rows: Array, k: int) -> tuple[Array, Array]:
    if not has_nan(rows):
        return _at_rank(rows, k - 1)
    values, order = sort_rows(rows)
    return values[..., k - 1 : k], order[..., k - 1 : k]


def _median_rows(rows: Array, *, ignore_nan: bool) -> tuple[Array, Array]:
    """Return the median of each row, the lower one of two; a nan is the median unless ignored."""
    size = rows.shape[-1]
    if not has_nan(rows):
        return _at_rank(rows, (size - 1) // 2)
    known = size - np.count_nonzero(np.isnan(rows), -1, keepdims=True)
    lower = np.maximum((known - 1) // 2, 0)
    ranks = lower if ignore_nan else np.where(known == size, lower, known)
    values, order = sort_rows(rows)
    return read_rows(values, ranks), read_rows(order, ranks)


def _mode_rows(rows: Array) -> tuple[Array, Array]:
    """Return the ends of the longest runs of equal values among the sorted ones, the first of several."""
    values, order = sort_rows(rows)
    begins, ends = np.ones((2, *rows.shape), np.bool_)
    begins[..., 1:] = ends[..., :-1] = values[..., 1:] != values[..., :-1]
    places = np.arange(1, rows.shape[-1] + 1)
    lengths = places - np.maximum.accumulate(places * begins, -1) + 1
    at = (lengths * ends).argmax(-1, keepdims=True)
    return read_rows(values, at), read_rows(order, at)


def _along(find: Callable[..., tuple[Array, Array]]) -> Kernel:
    """Make a kernel from a function of rows, and of the arguments before ``dim``, that finds one element of each row."""

    def compute(spec: Any, self: Array, *args: Any) -> Any:
        *before, dim, keepdim = args  # the dispatcher fills in the defaults
        if not self.ndim:
            return self.copy(), np.zeros((), np.int64)
        if not self.size:
            return tuple(np.empty(each.shape, each.array_dtype) for each in spec)
        # Of the sorted rows nothing else is kept.
        found = [each.copy() for each in find(as_rows(self, dim), *before)]
        return tuple(from_rows(each, dim) if keepdim else each[..., 0] for each in found)

    return compute


def _of_all(spec: Any, self: Array, *, ignore_nan: bool) -> Any:
    if not self.size:
        return np.nan if self.dtype.kind == "f" else np.iinfo(self.dtype).min
    flat = self.reshape(-1)
    if flat.size >= _SEVERAL and flat.dtype.char in _PARTITIONED and not has_nan(flat):
        rank = (flat.size - 1) // 2
        value = np.partition(flat, rank)[rank]
        if value:  # of zeros with different signs the first one counts
            return value
    return _median_rows(flat, ignore_nan=ignore_nan)[0].copy()


#: From how many elements a partition alone is faster, and for which dtypes.
_SEVERAL: Final = 16
_PARTITIONED: Final = frozenset("fdil")


_COMPUTE: Final[dict[str, Kernel]] = {
    "topk": _topk,
    "kthvalue": _along(_kth_rows),
    "median": partial(_of_all, ignore_nan=False),
    "nanmedian": partial(_of_all, ignore_nan=True),
    "median.dim": _along(partial(_median_rows, ignore_nan=False)),
    "nanmedian.dim": _along(partial(_median_rows, ignore_nan=True)),
    "mode": _along(_mode_rows),
}
KERNELS.update({name: make_kernel(name, compute) for name, compute in _COMPUTE.items()})
