"""Sorting, and searches by it. Always stable; nan counts as the greatest value, as in torch.

Note [Stable by quick sorts]
    NumPy's quick sort is several times as fast as its stable one on long rows. Only equal elements may come in another
    order, so these are looked for, and their places sorted within each run of equal ones.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from dispatch_aten.errors import DimensionError
from dispatch_aten.shapes import wrap_dim

from ...arrays import Array, as_array, is_row_major
from ...kernel_table import Kernel, KernelTable, computed_by
from ...output_specs import OutputSpec
from ..support.places import locate, read_at
from ..support.rule_kernels import make_kernel

KERNELS: Final = KernelTable()

#: Rows of as many elements, of arrays of as many, are sorted quickly; see Note [Stable by quick sorts].
_LONG, _LARGE = 128, 2048
_QUICK: Final = frozenset("fdilq")


def as_rows(array: Array, dim: int) -> Array:
    """Return a view of an array in which ``dim`` is the last dimension."""
    axis = wrap_dim(dim, array.ndim)
    if axis == array.ndim - 1:
        return array
    dims = [*range(array.ndim)]
    dims.append(dims.pop(axis))
    return array.transpose(dims)


def from_rows(rows: Array, dim: int) -> Array:
    """Undo `as_rows`."""
    axis = wrap_dim(dim, rows.ndim)
    if axis == rows.ndim - 1:
        return rows
    dims = [*range(rows.ndim)]
    dims.insert(axis, dims.pop())
    return rows.transpose(dims)


def read_rows(rows: Array, order: Array) -> Array:
    """Return of each row the elements at the places of the same row of ``order``."""
    return read_at(*locate(rows, order, rows.ndim - 1, order.shape))


def has_nan(array: Array) -> bool:
    """Return whether some element is nan."""
    if array.dtype.kind != "f" or not array.size:
        return False
    top = array.item(array.argmax())
    return math.isnan(top)


def sort_rows(rows: Array, *, descending: bool = False) -> tuple[Array, Array]:
    """Return each row sorted, and the places that its elements had; equal ones keep their order, also descending."""
    if descending:
        values, order = sort_rows(rows[..., ::-1])
        return values[..., ::-1], rows.shape[-1] - 1 - order[..., ::-1]
    count = rows.shape[-1]
    if count < _LONG or rows.size < _LARGE or rows.dtype.char not in _QUICK:
        order = rows.argsort(-1, kind="stable")
        return read_rows(rows, order), order
    order = rows.argsort(-1)
    values = read_rows(rows, order)
    same = values[..., 1:] == values[..., :-1]
    if rows.dtype.kind == "f":
        same |= np.isnan(values[..., :-1])
    if not same.any():
        return values, order
    runs = np.zeros(order.shape, np.int64)
    np.cumsum(~same, -1, out=runs[..., 1:])
    runs *= count
    order += runs
    order.sort(-1)
    order -= runs
    return read_rows(rows, order), order


def _sort(spec: Any, self: Array, dim: int = -1, descending: bool = False, *, stable: bool | None = None) -> Any:
    if not self.ndim:
        return self.copy(), np.zeros((), np.int64)
    values, order = sort_rows(as_rows(self, dim), descending=descending)
    return from_rows(values, dim), from_rows(order, dim)


def _search(
    spec: OutputSpec,
    sequence: Array,
    values: Array,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Array | None = None,
) -> Any:
    which: Any = "right" if right or side == "right" else "left"
    if sorter is not None:
        if sorter.size and (sorter.min() < 0 or sorter.max() >= sequence.shape[-1]):
            raise DimensionError("torch.searchsorted(): sorter index out of range", argument="sorter")
        sequence = np.take_along_axis(sequence, sorter, -1)
    if sequence.ndim == 1:
        return np.searchsorted(sequence, values, which)
    result = np.empty(values.shape, np.int64)
    for place in np.ndindex(values.shape[:-1]):
        result[place] = np.searchsorted(sequence[place], values[place], which)
    return result


_COMPUTE: Final[dict[str, Kernel]] = {
    "sort": _sort,
    "sort.stable": _sort,
    "searchsorted.Tensor": _search,
}
KERNELS.update({name: make_kernel(name, compute, in_float=compute is _sort) for name, compute in _COMPUTE.items()})


def _make_search(general: Kernel) -> Kernel:
    """Make the kernel of ``searchsorted``, which asks no rule where both arrays are plain."""

    def kernel(
        sorted_sequence: Array,
        self: Array,
        *,
        out_int32: bool = False,
        right: bool = False,
        side: str | None = None,
        sorter: Array | None = None,
    ) -> Array:
        is_plain = sorted_sequence.ndim == 1 and side is None and sorter is None and not out_int32
        are_alike = self.dtype is sorted_sequence.dtype and self.dtype.char in _QUICK
        if is_plain and are_alike and sorted_sequence.size and is_row_major(self):
            return as_array(sorted_sequence.searchsorted(self, "right" if right else "left"))
        found: Array = general(sorted_sequence, self, out_int32=out_int32, right=right, side=side, sorter=sorter)
        return found

    return computed_by(kernel, general)


KERNELS["searchsorted.Tensor"] = _make_search(KERNELS["searchsorted.Tensor"])
