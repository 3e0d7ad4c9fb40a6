"""The elements that a chain computes, cut into tiles that stay in the cache."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise, product
from math import prod
from typing import Any, Final

from dispatch_aten.shapes import contiguous_strides
from dispatch_core.planning import Value

#: The elements of a tile.
TILE: Final = 32768
#: Where the large arrays of NumPy begin behind a cache line, in elements of four bytes; of other sizes it does not matter.
_BEHIND: Final = 4

#: An index into arrays of the space, the shape of the part that it selects, and the number of elements there.
Tile = tuple[Any, tuple[int, ...], int]


@dataclass(frozen=True, slots=True)
class Space:
    """The elements that a chain computes, and how its arrays are seen for it."""

    shape: tuple[int, ...]
    #: The order of the dimensions in which stored values lie in memory.
    order: tuple[int, ...]
    #: Whether all arrays with dimensions lie in this order without gaps, so that they can be seen as one row.
    is_flat: bool

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def is_in_order(self) -> bool:
        """Whether the dimensions stay as they are."""
        return self.order == tuple(range(len(self.shape)))

    @property
    def is_row(self) -> bool:
        """Whether all arrays are seen as one row as they are."""
        return self.is_flat and self.is_in_order

    def tiles(self, most: int) -> list[Tile]:
        """Return the tiles, of at most ``most`` elements and about equally large, in the order of memory."""
        if not self.is_flat:
            return list(_tiles(tuple(self.shape[dim] for dim in self.order), most))
        # Large arrays begin some bytes behind a cache line, the tiles but for the first with one.
        starts = [0, *range(most - _BEHIND, self.size, most)]
        return [(slice(start, stop), (stop - start,), stop - start) for start, stop in pairwise([*starts, self.size])]


def make_space(shape: tuple[int, ...], stored: Iterable[Value], read: Iterable[Value]) -> Space:
    """Find the order in which ``stored`` values lie, and whether all values lie so."""
    stored = [value for value in stored if value.shape == shape]
    order = tuple(range(len(shape)))
    if stored:
        strides = stored[0].strides
        order = tuple(sorted(order, key=lambda dim: (-strides[dim], dim)))
    wanted = _inverse(contiguous_strides(tuple(shape[dim] for dim in order)), order)
    arrays = [value for value in (*stored, *read) if prod(value.shape) != 1 or value.shape == shape]
    is_flat = all(value.shape == shape and _same(value.strides, wanted, shape) for value in arrays)
    return Space(shape, order, is_flat)


def _inverse(strides: tuple[int, ...], order: tuple[int, ...]) -> tuple[int, ...]:
    found = [0] * len(order)
    for dim, stride in zip(order, strides, strict=True):
        found[dim] = stride
    return tuple(found)


def _same(strides: tuple[int, ...], wanted: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Compare strides; those of dimensions of size 1 do not matter."""
    return all(a == b or size == 1 for a, b, size in zip(strides, wanted, shape, strict=True))


def _tiles(sizes: tuple[int, ...], most: int) -> Iterator[Tile]:
    inner = 1
    for dim in reversed(range(len(sizes))):
        if inner * sizes[dim] > most:
            break
        inner *= sizes[dim]
    else:
        yield (slice(None),), sizes, inner
        return
    # Rows of the dimension ``dim`` are put together, as many as fit.
    pieces = -(-sizes[dim] // max(1, most // inner))
    bounds = [sizes[dim] * piece // pieces for piece in range(pieces + 1)]
    rest = sizes[dim + 1 :]
    shapes: dict[int, tuple[int, ...]] = {}
    for outer in product(*map(range, sizes[:dim])):
        for start, stop in pairwise(bounds):
            shape = shapes.setdefault(stop - start, (stop - start, *rest))
            yield (*outer, slice(start, stop)), shape, (stop - start) * inner
