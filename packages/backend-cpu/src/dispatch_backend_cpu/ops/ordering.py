"""Sorting. Always stable; nan counts as the greatest value, as in torch."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from dispatch_aten.shapes import wrap_dim

from ..arrays import Array
from ..kernel_table import Kernel, KernelTable
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


_COMPUTE: Final[dict[str, Kernel]] = {
    "sort": _sort,
    "sort.stable": _sort,
    "topk": _topk,
}
KERNELS.update({name: make_kernel(name, compute) for name, compute in _COMPUTE.items()})
