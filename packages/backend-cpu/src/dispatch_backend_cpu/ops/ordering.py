"""Sorting. Always stable; nan counts as the greatest value, as in torch."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from dispatch_aten.errors import DimensionError
from dispatch_aten.shapes import wrap_dim

from ..arrays import Array
from ..kernel_table import Kernel, KernelTable
from ..output_specs import OutputSpec, half_as_float
from .rule_kernels import make_kernel

KERNELS: Final = KernelTable()


def _order(a: Array, axis: int, descending: bool) -> Array:
    """Return the indices that sort; equal values keep their order, also where the greatest comes first."""
    if not descending:
        return np.argsort(a, axis, kind="stable")
    backwards = np.flip(a, axis)
    return a.shape[axis] - 1 - np.flip(np.argsort(backwards, axis, kind="stable"), axis)


def _sort(spec: Any, self: Array, dim: int = -1, descending: bool = False, *, stable: bool | None = None) -> Any:
    if not self.ndim:
        return self.copy(), np.zeros((), np.int64)
    axis = wrap_dim(dim, self.ndim)
    order = _order(self, axis, descending)
    return np.take_along_axis(self, order, axis), order


def _topk(spec: Any, self: Array, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    if not self.ndim:
        return self.copy(), np.zeros((), np.int64)
    axis = wrap_dim(dim, self.ndim)
    order = _order(self, axis, largest)[(slice(None),) * axis + (slice(k),)]
    return np.take_along_axis(self, order, axis), order


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


def _cumulative_extremum(fold: Any) -> Any:
    """Make cummax or cummin; of equal values the last one counts, and nan is greater and less than all."""

    def compute(spec: Any, self: Array, dim: int) -> Any:
        if not self.ndim:
            return self.copy(), np.zeros((), np.int64)
        axis = wrap_dim(dim, self.ndim)
        values = fold.accumulate(self, axis)
        hit = self == values
        if self.dtype.kind == "f":
            hit |= np.isnan(self)
        shape = [-1 if each == axis else 1 for each in range(self.ndim)]
        places = np.where(hit, np.arange(self.shape[axis]).reshape(shape), 0)
        return values, np.maximum.accumulate(places, axis)

    return compute


def _logcumsumexp(spec: OutputSpec, self: Array, dim: int) -> Any:
    if not self.ndim:
        return self.copy()
    axis = wrap_dim(dim, self.ndim)
    if self.dtype.kind == "f":
        return np.logaddexp.accumulate(self.astype(half_as_float(self.dtype)), axis)
    result = np.empty(self.shape, np.complex128)
    rows, found = (np.moveaxis(each, axis, 0) for each in (self, result))
    for place, row in enumerate(rows):
        before = found[place - 1] if place else np.full_like(row, -np.inf)
        least, most = np.where(before.real < row.real, (before, row), (row, before))
        added = np.where(np.isneginf(most.real), most, np.log1p(np.exp(least - most)) + most)
        added = np.where(np.isposinf(least.real), np.log(np.exp(least) + np.exp(most)), added)
        found[place] = np.where(np.isnan(before) | np.isnan(row), complex(np.nan, np.nan), added)
    return result


_COMPUTE: Final[dict[str, Kernel]] = {
    "sort": _sort,
    "sort.stable": _sort,
    "topk": _topk,
    "searchsorted.Tensor": _search,
    "cummax": _cumulative_extremum(np.maximum),
    "cummin": _cumulative_extremum(np.minimum),
    "logcumsumexp": _logcumsumexp,
}
KERNELS.update({name: make_kernel(name, compute) for name, compute in _COMPUTE.items()})
