"""Counts, distinct and largest elements of arrays in several chunks: of each chunk, and then of what these have found."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from math import isfinite, nan
from typing import Any, Final

import dask.array as da
import numpy as np

import dispatch_core as dc
from dispatch_aten.decompositions import EXPLICIT
from dispatch_aten.dtypes import ScalarType
from dispatch_aten.errors import DataDependentShapeError
from dispatch_aten.shapes import RULES

from ..dask_cluster import gather, with_sizes
from ..library import Array, ArrayLibrary, Kernel
from .counting_blocks import (
    add_counts,
    choose_part,
    count_bins,
    count_values,
    find_distinct,
    find_largest,
    find_places,
    keep,
    merge_distinct,
)


def _merge(parts: Array, function: Any) -> Array:
    """Merge the parts that chunks have given, a few at a time."""
    merge = {"chunk": keep, "combine": function, "aggregate": function}
    return da.reduction(parts, **merge, axis=None, concatenate=False, dtype=parts.dtype, meta=np.empty((), parts.dtype))


def _in_parts(function: Any, dtype: Any, *arrays: Array, **options: Any) -> Array:
    """Apply a function to each chunk, which gives a part of any kind."""
    ones = tuple([(1,) * count for count in arrays[0].numblocks])
    meta = np.empty((0,) * arrays[0].ndim, dtype)
    return da.map_blocks(function, *arrays, **options, chunks=ones, dtype=dtype, meta=meta)


def _bincount(library: ArrayLibrary) -> Kernel:
    composed = EXPLICIT["bincount"]

    def bincount(self: Array, weights: Array | None = None, minlength: int = 0) -> Array:
        with_sizes([self] if weights is None else [self, weights])
        with suppress(DataDependentShapeError):
            RULES["bincount"](library.meta(self), None if weights is None else library.meta(weights), minlength)
        if not self.size:
            return composed(self, weights, minlength)
        dtype = np.dtype(np.int64 if weights is None else np.float32 if weights.dtype == np.float32 else np.float64)
        given = (self,) if weights is None else (self, weights.rechunk(self.chunks))
        parts = _in_parts(count_values, dtype, *given, minlength=minlength, result=dtype)
        return da.map_blocks(keep, _merge(parts, add_counts), new_axis=0, chunks=((nan,),), meta=np.empty(0, dtype))

    return bincount


def _histc(library: ArrayLibrary) -> Kernel:
    composed = EXPLICIT["histc"]

    def histc(self: Array, bins: int = 100, min: Any = 0, max: Any = 0) -> Array:  # torch's names
        with_sizes([self])
        RULES["histc"](library.meta(self), bins, min, max)
        low, high = min, max
        if low == high and self.size:
            low, high = (float(each) for each in gather([self.min(), self.max()]))
        if self.npartitions == 1 or not self.size or not (isfinite(low) and isfinite(high)):
            return composed(self, bins, low, high)
        low, high = (low - 1, high + 1) if low == high else (low, high)
        counts = _in_parts(count_bins, np.int64, self, bins=bins, low=float(low), high=float(high))
        merged = _merge(counts, add_counts)
        return da.map_blocks(keep, merged, new_axis=0, chunks=((bins,),), meta=np.empty(0, np.int64)).astype(self.dtype)

    return histc


def _unique(library: ArrayLibrary) -> Kernel:
    composed = EXPLICIT["_unique2"]

    def unique(
        self: Array,
        sorted: bool = True,  # torch's name
        return_inverse: bool = False,
        return_counts: bool = False,
    ) -> tuple[Array, Array, Array]:
        with suppress(DataDependentShapeError):
            RULES["_unique2"](library.meta(self), sorted, return_inverse, return_counts)
        # Of several nans the places cannot be told from their values.
        has_nan = self.dtype.kind in "fc"
        if self.npartitions == 1 or 0 in self.shape or (return_inverse and has_nan):
            return composed(self, sorted, return_inverse, return_counts)
        both = _merge(_in_parts(find_distinct, self.dtype, self), merge_distinct)
        nothing = library.full((0,), 0, ScalarType.Long)
        found = [
            da.map_blocks(choose_part, both, part, new_axis=0, chunks=((nan,),), dtype=dtype, meta=np.empty(0, dtype))
            for part, dtype in enumerate((self.dtype, np.dtype(np.int64)))
        ]
        dims = tuple(range(self.ndim))
        inverse = da.blockwise(find_places, dims, self, dims, both, (), dtype=np.int64) if return_inverse else nothing
        return found[0], inverse, found[1] if return_counts else nothing

    return unique


def _topk(library: ArrayLibrary) -> Kernel:
    composed = EXPLICIT["topk"]

    def topk(self: Array, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> tuple[Array, Array]:
        with_sizes([self])
        RULES["topk"](library.meta(self), k, dim, largest, sorted)
        if not self.ndim or 0 in self.shape or not k or 2 * k > max(self.chunks[dim]) or self.numblocks[dim] == 1:
            return composed(self, k, dim, largest, sorted)
        dim %= self.ndim
        start = da.from_array(np.cumsum((0, *self.chunks[dim][:-1])), chunks=1)
        dims = tuple(range(self.ndim))
        values, places = (
            da.blockwise(
                find_largest,
                dims,
                self,
                dims,
                start,
                (dim,),
                k=k,
                axis=dim,
                largest=largest,
                part=part,
                align_arrays=False,
                adjust_chunks={dim: tuple([min(k, size) for size in self.chunks[dim]])},
                dtype=dtype,
                meta=np.empty((0,) * self.ndim, dtype),
            )
            for part, dtype in enumerate((self.dtype, np.dtype(np.int64)))
        )
        found, order = composed(values, k, dim, largest, sorted)
        return found, dc.ops.aten.gather.default(places, dim, order)

    return topk


#: Operator → function of the library that makes its kernel.
KERNELS: Final[dict[str, Callable[[ArrayLibrary], Kernel]]] = {
    "_unique2": _unique,
    "bincount": _bincount,
    "histc": _histc,
    "topk": _topk,
}
