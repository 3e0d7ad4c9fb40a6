"""Medians and quantiles of arrays in several chunks, exactly, without a sort.

Note [Selecting]
    The element of a rank is found by its digits, as a radix sort does: each pass over the chunks counts how many elements
    have which next digit behind those that are known, and the rank says which one it is. The chunks' counts are added up, so
    that no place holds more than those. Floats of 32 bits take two to eight passes. An array above the limit of what may be
    collected is computed again for each pass, and held nowhere.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, Final

import dask.array as da
import numpy as np

import dispatch_core as dc
from dispatch_aten.decompositions import EXPLICIT, IMPLICIT
from dispatch_aten.shapes import RULES

from ..dask_cluster import get, with_sizes
from ..dask_collecting import limit, size_of
from ..library import Array, ArrayLibrary, Kernel
from .selection_blocks import choose_digit, count_digits, count_equal, find_equal, numbers_of

#: How many bits a pass may find, and the bytes of counts that a chunk may give.
_BITS: Final = (16, 11, 8, 6, 4)
_COUNTS: Final = 4 << 20


def _bits_for(self: Array, axes: tuple[int, ...], ranks: int) -> int | None:
    """Return how many bits each pass shall find, None where counts are larger than the chunks: a sort is less then."""
    largest = [max(sizes) for sizes in self.chunks]
    lanes = prod(size for dim, size in enumerate(largest) if dim not in axes)
    room = max(_COUNTS, prod(largest) * self.dtype.itemsize)
    return next((bits for bits in _BITS if lanes * ranks * 8 << bits <= room), None)


def _count_in_chunks(
    function: Any, self: Array, axes: tuple[int, ...], others: Any, last: Any, **options: Any
) -> Array:
    """Apply a function to each chunk and its lanes of other arrays (r, lanes...), and add up along ``axes``."""
    dims = range(self.ndim)
    lanes = tuple(dim for dim in dims if dim not in axes)
    rank, digit = self.ndim, self.ndim + 1
    pairs = [each for other in others for each in (other, (rank, *lanes))]
    found = da.blockwise(
        function,
        (*axes, rank, *lanes, digit),
        self,
        tuple(dims),
        *pairs,
        new_axes={digit: last},
        adjust_chunks=dict.fromkeys(axes, 1),
        dtype=np.int64,
        meta=np.empty((0,) * (self.ndim + 2), np.int64),
        axes=axes,
        **options,
    )
    return found.sum(axis=tuple(range(len(axes))))


def select(self: Array, axes: tuple[int, ...], ranks: Array, bits: int) -> tuple[Array, Array]:
    """Return keys (r, lanes...) of the elements of these ranks along ``axes``, and their ranks among equal ones.

    See Note [Selecting] and Note [Keys]; ``ranks`` (r, lanes...) are positions from 0.
    """
    width = 8 * self.dtype.itemsize
    unsigned = np.dtype(f"u{self.dtype.itemsize}")
    lanes = tuple([sizes for dim, sizes in enumerate(self.chunks) if dim not in axes])
    ranks = ranks.rechunk((ranks.shape[:1], *lanes))
    keys = da.zeros(ranks.shape, dtype=unsigned, chunks=ranks.chunks)
    again = size_of([self]) > limit()
    left = width
    while left:
        step = min(bits, left)
        left -= step
        counts = _count_in_chunks(count_digits, self, axes, [keys], 1 << step, shift=left, bits=step)
        dims, pair = tuple(range(ranks.ndim)), ranks.ndim
        both = da.blockwise(
            choose_digit,
            (pair, *dims),
            counts,
            (*dims, pair + 1),
            keys,
            dims,
            ranks,
            dims,
            new_axes={pair: 2},
            concatenate=True,
            bits=step,
            dtype=np.uint64,
            meta=np.empty((0,) * (ranks.ndim + 1), np.uint64),
        )
        if again:  # nothing of this pass stays with the next
            both = da.from_array(get(both), chunks=both.chunks)
        keys, ranks = both[0].astype(unsigned), both[1].astype(np.int64)
    return keys, ranks


def _find_positions(self: Array, dim: int, keys: Array, ranks: Array) -> Array:
    """Return the positions along ``dim`` of the elements of these ranks (lanes...) among those that have a lane's key."""
    dims = tuple(range(self.ndim))
    lanes = tuple(each for each in dims if each != dim)
    options: dict[str, Any] = {
        "adjust_chunks": {dim: 1},
        "align_arrays": False,
        "dtype": np.int64,
        "meta": np.empty((0,) * self.ndim, np.int64),
    }
    equal = da.blockwise(count_equal, (dim, *lanes), self, dims, keys, lanes, axes=(dim,), **options)
    if size_of([self]) > limit():
        equal = da.from_array(get(equal), chunks=equal.chunks)
    before = da.cumsum(equal, axis=0) - equal
    sizes = self.chunks[dim]
    start = da.from_array(np.cumsum((0, *sizes[:-1])), chunks=1)
    given = (self, dims, keys, lanes, before, (dim, *lanes), ranks, lanes, start, (dim,))
    return da.blockwise(find_equal, (dim, *lanes), *given, axis=dim, **options).max(axis=0)


def _numbers(library: ArrayLibrary, keys: Array, dtype: Any) -> Array:
    return da.map_blocks(numbers_of, keys, dtype, dtype=dtype, meta=np.empty((0,) * keys.ndim, dtype))


def _count_known(self: Array, axes: tuple[int, ...]) -> Array:
    """Return how many elements of each lane are numbers (lanes...)."""
    count = prod(self.shape[axis] for axis in axes)
    if self.dtype.kind != "f":
        return da.full(
            tuple([size for dim, size in enumerate(self.shape) if dim not in axes]),
            count,
            dtype=np.int64,
            chunks=tuple([sizes for dim, sizes in enumerate(self.chunks) if dim not in axes]),
        )
    known = count - da.isnan(self).sum(axis=axes, dtype=np.int64)
    return da.from_array(get(known), chunks=known.chunks) if size_of([self]) > limit() else known


def _median_ranks(self: Array, axes: tuple[int, ...], ignore_nan: bool) -> Array:
    """Return the ranks of the lower medians (1, lanes...); a nan is the median unless ignored."""
    known, count = _count_known(self, axes), prod(self.shape[axis] for axis in axes)
    ranks = da.maximum((known - 1) // 2, 0) if ignore_nan else da.where(known == count, (count - 1) // 2, known)
    return ranks[None]


def _median_dim(name: str) -> Callable[[ArrayLibrary], Kernel]:
    def make(library: ArrayLibrary) -> Kernel:
        composed, rule = EXPLICIT[f"{name}.dim"], RULES[f"{name}.dim"]

        def kernel(self: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
            with_sizes([self])
            rule(library.meta(self), dim, keepdim)
            bits = _bits_for(self, (dim % max(self.ndim, 1),), 1)
            if not self.ndim or 0 in self.shape or self.numblocks[dim] == 1 or bits is None:
                return composed(self, dim, keepdim)
            dim %= self.ndim
            keys, ranks = select(self, (dim,), _median_ranks(self, (dim,), name == "nanmedian"), bits)
            found = _numbers(library, keys[0], self.dtype), _find_positions(self, dim, keys[0], ranks[0])
            return tuple([da.expand_dims(each, dim) if keepdim else each for each in found])

        return kernel

    return make


def _median(name: str) -> Callable[[ArrayLibrary], Kernel]:
    def make(library: ArrayLibrary) -> Kernel:
        composed = EXPLICIT[name]

        def kernel(self: Array) -> Array:
            with_sizes([self])
            RULES[name](library.meta(self))
            if 0 in self.shape or self.npartitions == 1:
                return composed(self)
            axes = tuple(range(self.ndim))
            keys, _ = select(self, axes, _median_ranks(self, axes, name == "nanmedian"), _BITS[0])
            return _numbers(library, keys[0], self.dtype)

        return kernel

    return make


def _are_shares(self: Array, q: Any, interpolation: str) -> bool:
    """Return whether the composition would take these arguments; it has the words for those that it refuses."""
    if interpolation not in ("linear", "lower", "higher", "midpoint", "nearest"):
        return False
    if isinstance(q, float):
        return 0 <= q <= 1
    if q.ndim > 1 or q.dtype != self.dtype:
        return False
    shares = get(q)
    return bool(((shares >= 0) & (shares <= 1)).all())


def _quantile(name: str) -> Callable[[ArrayLibrary], Kernel]:
    def make(library: ArrayLibrary) -> Kernel:
        composed = IMPLICIT[name]

        def kernel(
            self: Array, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
        ) -> Array:
            with_sizes([self])
            axes = tuple(range(self.ndim)) if dim is None else (dim % max(self.ndim, 1),)
            count = 1 if isinstance(q, float) else q.size
            bits = _bits_for(self, axes, 2 * count)
            if (
                not self.ndim
                or 0 in self.shape
                or not count
                or bits is None
                or self.dtype.kind != "f"
                or all(self.numblocks[axis] == 1 for axis in axes)
                or not _are_shares(self, q, interpolation)
            ):
                return composed(self, q, dim, keepdim, interpolation=interpolation)
            places = da.full((), q, dtype=self.dtype) if isinstance(q, float) else q
            ranks = _quantile_ranks(self, axes, places.reshape(-1).rechunk(-1), name.startswith("nan"))
            found = _interpolate(library, self, axes, ranks, interpolation, bits)
            if keepdim:
                found = da.expand_dims(found, tuple([axis + 1 for axis in axes]))
            return found if places.ndim else found[0]

        return kernel

    return make


def _quantile_ranks(self: Array, axes: tuple[int, ...], q: Array, ignore_nan: bool) -> Array:
    """Return the places of quantiles among the sorted elements (q, lanes...); a lane with a nan has nothing else."""
    known, last = _count_known(self, axes), prod(self.shape[axis] for axis in axes) - 1
    places = q.reshape((-1,) + (1,) * known.ndim)
    if ignore_nan:
        return da.maximum(places * (known - 1).astype(self.dtype), 0)
    return da.where(known <= last, self.dtype.type(last), places * self.dtype.type(last))


def _interpolate(
    library: ArrayLibrary, self: Array, axes: tuple[int, ...], ranks: Array, interpolation: str, bits: int
) -> Array:
    rounding = {"lower": da.floor, "higher": da.ceil, "nearest": da.rint}
    ranks = rounding[interpolation](ranks) if interpolation in rounding else ranks
    below, above = ranks.astype(np.int64), da.ceil(ranks).astype(np.int64)
    if interpolation in rounding:
        return _numbers(library, select(self, axes, below, bits)[0], self.dtype)
    count = len(ranks)
    found = _numbers(library, select(self, axes, da.concatenate([below, above]).rechunk({0: -1}), bits)[0], self.dtype)
    weights = da.full_like(ranks, 0.5) if interpolation == "midpoint" else ranks - below.astype(self.dtype)
    return dc.ops.aten.lerp.Tensor(found[:count], found[count:], weights)


_NAMES: Final = ("median", "nanmedian")
_QUANTILES: Final = ("quantile", "quantile.scalar", "nanquantile", "nanquantile.scalar")
#: Operator → function of the library that makes its kernel.
KERNELS: Final[dict[str, Callable[[ArrayLibrary], Kernel]]] = {
    **{f"{name}.dim": _median_dim(name) for name in _NAMES},
    **{name: _median(name) for name in _NAMES},
    **{name: _quantile(name) for name in _QUANTILES},
}
