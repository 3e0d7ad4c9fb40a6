"""Reading and writing Dask's arrays by index arrays and masks, chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isnan, prod
from typing import Any, Final

import dask.array as da
import numpy as np

from dispatch_aten.decompositions import EXPLICIT
from dispatch_aten.dtypes import ScalarType

from .dask_blocks import add_block, check_block, check_rows_block, put_block, scatter_block, take_block
from .dask_collecting import collect, collect_on_host, size_of
from .kernels import indexing
from .library import Array, ArrayLibrary, Kernel

_MASKS: Final = (ScalarType.Bool, ScalarType.Byte)


def assign(array: Array, key: Any, values: Array, add: bool) -> Array:
    """Return an array with other values at some rows, or in a part that slices cut out."""
    if isinstance(key, tuple):
        return _replace_part(array, key, values, add)
    values = da.broadcast_to(values, (*key.shape, *array.shape[1:]))
    if add and _can_add_up(array, values):
        return array + _add_up(array, key, values)
    rows = array.rechunk(dict.fromkeys(range(1, array.ndim), -1))
    return da.map_blocks(put_block, rows, position=key, values=values, add=add, dtype=array.dtype, meta=array._meta)


def _can_add_up(array: Array, values: Array) -> bool:
    """Return whether each chunk of the values can add up into rows of its own, which are not more than the values are."""
    if isnan(values.size) or array.dtype.kind not in "iufc" or max(values.numblocks) == 1:
        return False
    return array.nbytes <= max(4 << 20, prod(max(sizes) for sizes in values.chunks) * array.dtype.itemsize)


def _add_up(array: Array, key: Array, values: Array) -> Array:
    """Return the sum of the values at each position, chunk by chunk of the values: no place holds all of them."""
    values = values.astype(array.dtype).rechunk(dict(enumerate(array.chunks[1:], 1)))
    dims = tuple(range(values.ndim))
    made = da.blockwise(
        add_block,
        (0, values.ndim, *dims[1:]),
        key.rechunk((values.chunks[0],)),
        (0,),
        values,
        dims,
        array.shape[0],
        None,
        new_axes={values.ndim: array.shape[0]},
        adjust_chunks={0: 1},
        dtype=array.dtype,
        meta=np.empty((0,) * (values.ndim + 1), array.dtype),
    )
    return made.sum(axis=0, dtype=array.dtype).rechunk(array.chunks)


def _replace_part(array: Array, key: tuple[Any, ...], values: Array, add: bool) -> Array:
    """Return an array with another part, which a slice of one dimension cuts out; Dask's own writing fails at some steps."""
    dim, cut = next((dim, each) for dim, each in enumerate(key) if isinstance(each, slice) and each != slice(None))
    values = da.broadcast_to(values, array[key].shape).astype(array.dtype)
    if cut.step not in (None, 1):
        rows = assign(
            da.moveaxis(array, dim, 0), da.arange(cut.start, cut.stop, cut.step), da.moveaxis(values, dim, 0), add
        )
        return da.moveaxis(rows, 0, dim)
    before, after = (slice(None),) * dim + (slice(cut.start),), (slice(None),) * dim + (slice(cut.stop, None),)
    parts = [array[before], array[key] + values if add else values, array[after]]
    return da.concatenate([each for each in parts if each.shape[dim]], axis=dim).rechunk(array.chunks)


def _index(library: ArrayLibrary) -> Kernel:
    plain = indexing.make(library)["index.Tensor"]

    def index(self: Array, indices: Sequence[Array | None]) -> Array:
        given = [(dim, each) for dim, each in enumerate(indices) if each is not None]
        if any(library.dtype_of(each) in _MASKS for _, each in given):
            dim, mask = given[0]
            mask = library.cast(mask, ScalarType.Bool)
            if len(given) == 1 and (mask.ndim == 1 or (mask.ndim == self.ndim and not dim)):
                # How many elements are chosen is not known until they are computed.
                return self[(slice(None),) * dim + (mask,)]
            indices = _as_positions(library, indices, "aten::index.Tensor")
        return plain(self, _check_positions(library, self, indices, "aten::index.Tensor"))

    return index


def _as_positions(library: ArrayLibrary, indices: Sequence[Array | None], operator: str) -> list[Array | None]:
    """Return indices with positions for masks, which are computed: how many there are decides the shapes of the rest."""
    found: list[Array | None] = []
    for each in indices:
        if each is not None and library.dtype_of(each) in _MASKS:
            collect(operator, size_of([each]), "in this process", "choose by positions")
            found += map(library.put, np.nonzero(library.get(each)))
        else:
            found.append(each)
    return found


def _check_positions(
    library: ArrayLibrary, self: Array, indices: Sequence[Array | None], operator: str
) -> list[Array | None]:
    """Return index arrays that refuse positions out of range when they are computed."""
    return [
        each
        if each is None or self.shape[dim] != self.shape[dim]  # nan: a size that is not known
        else da.map_blocks(
            check_block, library.indices(each), self.shape[dim], dim, operator, dtype=np.int64, meta=each._meta
        )
        for dim, each in enumerate(indices)
    ]


def _check_rows(library: ArrayLibrary, self: Array, dim: int, index: Array, operator: str) -> Array:
    """Return positions of rows that refuse those out of range, negative ones too, when they are computed."""
    if not -max(self.ndim, 1) <= dim < max(self.ndim, 1):
        return index
    size = self.shape[dim] if self.ndim else 1
    if isnan(size):  # it is not known
        return index
    return da.map_blocks(
        check_rows_block,
        library.indices(index),
        size,
        operator,
        dtype=np.int64,
        meta=np.empty((0,) * index.ndim, np.int64),
    )


def _index_select(library: ArrayLibrary) -> Kernel:
    plain = indexing.make(library)["index_select"]

    def index_select(self: Array, dim: int, index: Array) -> Array:
        return plain(self, dim, _check_rows(library, self, dim, index, "aten::index_select"))

    return index_select


def _index_add(library: ArrayLibrary) -> Kernel:
    composed = EXPLICIT["index_add"]

    def index_add(self: Array, dim: int, index: Array, source: Array, *, alpha: Any = 1) -> Array:
        # Torch looks at no positions of an array without elements.
        if self.ndim < 2 or 0 not in self.shape:
            index = _check_rows(library, self, dim, index, "aten::index_add")
        return composed(self, dim, index, source, alpha=alpha)

    return index_add


def _embedding(library: ArrayLibrary) -> Kernel:
    composed = EXPLICIT["embedding"]

    def embedding(weight: Array, indices: Array, *options: Any) -> Array:
        return composed(weight, _check_rows(library, weight, 0, indices, "aten::embedding"), *options)

    return embedding


def _index_put(library: ArrayLibrary) -> Kernel:
    plain = indexing.make(library)["index_put"]

    def index_put(self: Array, indices: Sequence[Array | None], values: Array, accumulate: bool = False) -> Array:
        mask = indices[0]
        if any(each is not None and library.dtype_of(each) in _MASKS for each in indices):
            if len(indices) == 1 and mask is not None and mask.ndim == self.ndim and not values.ndim:
                return da.where(library.cast(mask, ScalarType.Bool), self + values if accumulate else values, self)
            indices = _as_positions(library, indices, "aten::index_put")
        return plain(self, _check_positions(library, self, indices, "aten::index_put"), values, accumulate)

    return index_put


def _nonzero(library: ArrayLibrary) -> Kernel:
    def nonzero(self: Array) -> Array:
        return da.argwhere(self) if self.ndim else library.put(np.argwhere(np.asarray(self)))

    return nonzero


def _align(self: Array, dim: int, *others: Array) -> tuple[Array, ...]:
    """Return arrays whose chunks lie on top of each other, in one piece along a dimension."""
    self = self.rechunk({dim: -1})
    chunks = {each: sizes for each, sizes in enumerate(self.chunks) if each != dim % self.ndim}
    return (self, *[each.rechunk(chunks | {dim % self.ndim: -1}) for each in others])


def _fits(self: Array, dim: int, index: Array) -> bool:
    """Return whether an index array has the sizes of the array beside the dimension that it chooses from."""
    if not self.ndim or self.ndim != index.ndim:
        return False
    pairs = zip(self.shape, index.shape, strict=True)
    return all(one == other for each, (one, other) in enumerate(pairs) if each != dim % self.ndim)


def _gather(library: ArrayLibrary) -> Kernel:
    elsewhere = collect_on_host("aten::gather")

    def gather(self: Array, dim: int, index: Array, *, sparse_grad: bool = False) -> Array:
        if not _fits(self, dim, index):
            return elsewhere(self, dim, index, sparse_grad=sparse_grad)
        whole, index = _align(self, dim, index)
        return da.map_blocks(take_block, whole, index, dim, dtype=self.dtype, chunks=index.chunks, meta=self._meta)

    return gather


def _scatter(name: str, *, add: bool) -> Callable[[ArrayLibrary], Kernel]:
    def make(library: ArrayLibrary) -> Kernel:
        elsewhere = collect_on_host(f"aten::{name}")

        def scatter(self: Array, dim: int, index: Array, src: Any) -> Array:
            is_number = not isinstance(src, da.Array)
            if not _fits(self, dim, index) or (not is_number and src.shape != index.shape):
                return elsewhere(self, dim, index, src)
            if is_number:
                src = da.full_like(index, src, dtype=self.dtype)
            whole, index, src = _align(self, dim, index, src)
            return da.map_blocks(scatter_block, whole, index, src, dim, add=add, dtype=self.dtype, meta=self._meta)

        return scatter

    return make


#: Operator → function of the library that makes its kernel.
KERNELS: Final[dict[str, Callable[[ArrayLibrary], Kernel]]] = {
    "index.Tensor": _index,
    "index_put": _index_put,
    "index_select": _index_select,
    "index_add": _index_add,
    "embedding": _embedding,
    "nonzero": _nonzero,
    "gather": _gather,
    "scatter.src": _scatter("scatter.src", add=False),
    "scatter.value": _scatter("scatter.value", add=False),
    "scatter_add": _scatter("scatter_add", add=True),
}
