"""Making Dask's arrays: in which chunks, of the host's values, of random numbers."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, Final

import array_api_compat.dask.array as compat
import dask.array as da
import numpy as np
from dask.array.core import normalize_chunks
from dask.base import tokenize
from dask.core import flatten
from dask.highlevelgraph import HighLevelGraph

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType, get_default_dtype

from .dask_blocks import identity
from .dask_draws import draw_block
from .library import Array, ArrayLibrary, Kernel

_chunks: Final[ContextVar[Any]] = ContextVar("dispatch_backend_array_api.dask_chunks", default=None)


@contextmanager
def use_chunks(chunks: Any) -> Iterator[None]:
    """Make arrays in these chunks while the block runs, which are written as in ``dask.array.ones(…, chunks=…)``.

    >>> with use_chunks(2):
    ...     Namespace().empty((5,), dtype="float32").chunks
    ((2, 2, 1),)
    """
    token = _chunks.set(chunks)
    try:
        yield
    finally:
        _chunks.reset(token)


def chunks_for(shape: Sequence[int], dtype: Any) -> tuple[tuple[int, ...], ...]:
    """Return the sizes of the chunks of a new array. Raises ``ArgumentError`` for chunks that do not fit its shape."""
    wanted = _chunks.get()
    if wanted is None or not shape:
        wanted = "auto"
    elif isinstance(wanted, (list, tuple)):
        # As in Dask, None and -1 represent a dimension in one piece.
        wanted = tuple([-1 if each is None else each for each in wanted])
    if wanted == "auto" and 0 in shape:
        wanted = -1  # Dask divides by the number of elements
    try:
        found: tuple[tuple[int, ...], ...] = normalize_chunks(wanted, shape=tuple(shape), dtype=np.dtype(dtype))
    except (TypeError, ValueError) as error:
        raise dc.ArgumentError(
            f"chunks={_chunks.get()!r} do not fit the shape {tuple(shape)}: {error}",
            hint="give a number, or for each dimension a number, a tuple of sizes, or None for all of it",
        ) from error
    return found


@lru_cache(maxsize=1024)
def _number(_text: str, value: Any, dtype: str) -> Array:
    """Make an array of one number; the text tells -0.0 from 0.0, and True from 1."""
    return da.full((), value, dtype=dtype)


class Namespace:
    """Dask's namespace of the standard, with arrays made in the chunks that are asked for."""

    def __getattr__(self, name: str) -> Any:
        return getattr(compat, name)

    def empty(self, shape: Sequence[int], *, dtype: Any) -> Array:
        """Make an array of any values."""
        return da.empty(shape, dtype=dtype, chunks=chunks_for(shape, dtype))

    def full(self, shape: Sequence[int], value: Any, *, dtype: Any) -> Array:
        """Make an array of one number; the graphs of repeated numbers are kept, because their names take long."""
        if not shape:
            # A new array each time: its computed value is kept with it, on a cluster that may go away.
            return _number(repr(value), value, str(np.dtype(dtype))).copy()
        return da.full(shape, value, dtype=dtype, chunks=chunks_for(shape, dtype))

    def reshape(self, array: Array, shape: Sequence[int]) -> Array:
        """Return an array in another shape; where Dask cannot in one pass, by way of one dimension."""
        filled = tuple([tuple([size for size in sizes if size]) or (0,) for sizes in array.chunks])
        if filled != array.chunks:
            array = array.rechunk(filled)  # Dask fails at empty chunks, which a slice with a step leaves
        try:
            return da.reshape(array, shape)
        except NotImplementedError:
            return da.reshape(da.reshape(array, (-1,)), shape)

    def take(self, array: Array, indices: Array, *, axis: int) -> Array:
        """Return elements along an axis in chunks that are no larger than the array's, so that a shuffle fits everywhere."""
        if isinstance(indices, da.Array) and indices.ndim == 1 and not math.isnan(indices.size + array.shape[axis]):
            largest = max(*array.chunks[axis], 1)
            if max(indices.chunks[0], default=0) > largest:
                indices = indices.rechunk(largest)
            if indices.npartitions > 1:
                array = _hold(array)
        with warnings.catch_warnings():
            # A shuffle has a task for each pair of chunks.
            warnings.simplefilter("ignore", da.PerformanceWarning)
            return compat.take(array, indices, axis=axis)


def _hold(array: Array) -> Array:
    """Return an array whose chunks are computed once each: Dask would join their tasks with each of those that cut them."""
    name = f"held-{tokenize(array.name)}"
    graph = {(name, *key[1:]): (identity, key) for key in flatten(array.__dask_keys__())}
    joined = HighLevelGraph.from_collections(name, graph, dependencies=[array])
    return da.Array(joined, name, array.chunks, meta=array._meta)


def put(values: Any) -> Array:
    """Return an array of the host's values, which become part of the graph: nothing is lost with a worker."""
    values = np.array(values)
    return da.from_array(values, chunks=chunks_for(values.shape, values.dtype))


def shape_of(array: Array) -> tuple[int | None, ...]:
    """Return an array's shape, with None where Dask does not know a size yet.

    >>> x = da.arange(4, chunks=2)
    >>> shape_of(x), shape_of(x[x > 1])
    ((4,), (None,))
    """
    return tuple([None if math.isnan(size) else int(size) for size in array.shape])


def rechunk(array: Array) -> Array:
    """Return an array in the chunks that are asked for; itself where none are."""
    return array if _chunks.get() is None else array.rechunk(chunks_for(array.shape, array.dtype))


def _fill(library: ArrayLibrary) -> Kernel:
    def fill(self: Array, value: Any) -> Array:
        from .library import number

        return da.full_like(self, number(value, library.dtype_of(self)))

    return fill


def _clone(library: ArrayLibrary) -> Kernel:
    def clone(self: Array, *, memory_format: Any = None) -> Array:
        return rechunk(self)

    return clone


def _reduce(name: str, like: str) -> Callable[[ArrayLibrary], Kernel]:
    """Make the kernel that reduces all of an array, whose sizes may not be known."""

    def make(library: ArrayLibrary) -> Kernel:
        from dispatch_aten.shapes import RULES, contiguous

        rule, function = RULES[name], getattr(compat, like)

        def kernel(self: Array, *, dtype: ScalarType | None = None) -> Array:
            given = {} if dtype is None else {"dtype": dtype}
            wanted = rule(contiguous((1,) * self.ndim, library.dtype_of(self)), **given).dtype
            self = self if name in ("max", "min") else library.cast(self, wanted)
            if name in ("max", "min") and None not in shape_of(self):
                rule(contiguous(tuple(self.shape), wanted))  # it refuses arrays without elements
            return function(self)

        return kernel

    return make


def _draw(kind: str) -> Callable[[ArrayLibrary], Kernel]:
    """Make the kernel of a random factory: every chunk is drawn where it is needed, as often as it is needed."""

    def make(library: ArrayLibrary) -> Kernel:
        def draw(
            size: Sequence[int], *, generator: Any = None, dtype: ScalarType | None = None, **options: Any
        ) -> Array:
            return _draw_chunks(library, kind, size, (), dtype or get_default_dtype(), generator)

        return draw

    return make


def _draw_integers(library: ArrayLibrary) -> Kernel:
    def draw(
        low: int,
        high: int,
        size: Sequence[int],
        *,
        generator: Any = None,
        dtype: ScalarType | None = ScalarType.Long,
        **options: Any,
    ) -> Array:
        return _draw_chunks(library, "integers", size, (low, high), dtype or ScalarType.Long, generator)

    return draw


def _draw_chunks(
    library: ArrayLibrary, kind: str, size: Sequence[int], bounds: tuple[int, ...], dtype: ScalarType, generator: Any
) -> Array:
    wanted = library.dtype(dtype)
    chunks = chunks_for(size, wanted)
    return da.map_blocks(
        draw_block,
        kind,
        bounds,
        _seed(generator),
        str(np.dtype(wanted)),
        chunks=chunks,
        dtype=wanted,
        meta=np.empty((0,) * len(chunks), wanted),
    )


def _seed(generator: Any) -> int:
    """Return the next number of a device's stream, from which all chunks of an array are drawn."""
    drawn = dc.ops.aten.rand_like.generator(da.zeros((), dtype=np.float64), generator=generator)
    return int(float(drawn.compute(scheduler="synchronous")) * (1 << 53))


#: Operator → function of the library that makes its kernel.
KERNELS: Final[dict[str, Callable[[ArrayLibrary], Kernel]]] = {
    "fill.Scalar": _fill,
    "clone": _clone,
    "rand": _draw("uniform"),
    "rand.generator": _draw("uniform"),
    "randn": _draw("normal"),
    "randn.generator": _draw("normal"),
    "randint.low": _draw_integers,
    "randint.low_generator": _draw_integers,
    **{name: _reduce(name, name) for name in ("sum", "prod", "mean", "max", "min")},
}
