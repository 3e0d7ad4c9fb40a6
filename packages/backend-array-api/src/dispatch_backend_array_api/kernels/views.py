"""The primitives that views are made of, where arrays have no strides."""

from __future__ import annotations

from collections.abc import Sequence

from ..library import Array, ArrayLibrary, Kernel


def make(library: ArrayLibrary) -> dict[str, Kernel]:
    """Return the kernels for a library."""
    xp = library.xp

    def reshape(self: Array, shape: Sequence[int]) -> Array:
        return xp.reshape(self, tuple(shape))

    def permute(self: Array, dims: Sequence[int]) -> Array:
        return xp.permute_dims(self, tuple(dims))

    def cut(self: Array, dim: int, start: int, end: int, step: int) -> Array:
        return self[(slice(None),) * dim + (slice(start, end, step), ...)]

    def broadcast_to(self: Array, shape: Sequence[int]) -> Array:
        return xp.broadcast_to(self, tuple(shape))

    def take(self: Array, index: Array) -> Array:
        places = xp.reshape(index, (-1,))
        return xp.reshape(xp.take(xp.reshape(self, (-1,)), places, axis=0), tuple(index.shape))

    made: dict[str, Kernel] = {
        "prims::reshape": reshape,
        "prims::permute": permute,
        "prims::slice": cut,
        "prims::broadcast_to": broadcast_to,
        "prims::take": take,
    }
    if (assign := library.assign) is not None:

        def slice_scatter(self: Array, src: Array, dim: int, start: int, end: int, step: int) -> Array:
            return assign(self, (slice(None),) * dim + (slice(start, end, step), ...), src, False)

        made["prims::slice_scatter"] = slice_scatter
    return made
