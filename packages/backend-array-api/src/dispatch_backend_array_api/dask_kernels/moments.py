"""Variances by one pass: Dask merges the moments of chunks, where a composition keeps all chunks for a second pass."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, Final

import dask.array as da
import numpy as np

from dispatch_aten.decompositions import EXPLICIT
from dispatch_aten.shapes import RULES

from ..dask_cluster import with_sizes
from ..library import Array, ArrayLibrary, Kernel, axes


def _spread(name: str) -> Callable[[ArrayLibrary], Kernel]:
    def make(library: ArrayLibrary) -> Kernel:
        composed = EXPLICIT[name]

        def kernel(self: Array, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Array:
            with_sizes([self])
            RULES["var.correction"](library.meta(self), dim, correction=correction, keepdim=keepdim)
            where = axes(dim)
            taken = [each % max(self.ndim, 1) for each in (range(self.ndim) if where is None else np.atleast_1d(where))]
            is_divided = self.ndim > 0 and any(self.numblocks[each] > 1 for each in taken)
            count = prod(self.shape[each] for each in taken) if self.ndim else 1
            free = count - (1 if correction is None else correction)
            if not is_divided or self.dtype.kind != "f" or free <= 0:
                return composed(self, dim, correction=correction, keepdim=keepdim)
            found = da.var(self, axis=tuple(taken), dtype=np.float64, keepdims=keepdim) * (count / free)
            return (da.sqrt(found) if name == "std.correction" else found).astype(self.dtype)

        return kernel

    return make


#: Operator → function of the library that makes its kernel.
KERNELS: Final[dict[str, Callable[[ArrayLibrary], Kernel]]] = {
    name: _spread(name) for name in ("var.correction", "std.correction")
}
