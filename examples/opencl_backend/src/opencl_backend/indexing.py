"""Reading and writing at places that arrays of integers or masks name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.shapes import RULES, TensorMeta, broadcast_shapes

from .arrays import Array, empty, read, write
from .elementwise import broadcast
from .nest import Code, Operand, run

#: The host finds the places of a mask: how many there are decides about shapes, so that it has to wait for them anyway.
_find_nonzero: Final = dc.host_kernel("aten::nonzero")


class _Places:
    """The dimensions of ``x[indices]``: those that are kept, and those of the indices, which broadcast together."""

    def __init__(self, array: Array, indices: Sequence[Array | None]) -> None:
        found = [one for each in indices for one in ([None] if each is None else _columns(each))]
        #: The indices as the shape rule reads them, masks being replaced.
        self.metas = [each and each.spec for each in found]
        self.arrays = [each for each in found if each is not None]
        self.shape = broadcast_shapes(*(each.shape for each in self.arrays))
        dims = [dim for dim, each in enumerate(found) if each is not None]
        self.kept = [each for each in range(len(array.shape)) if each not in dims]
        self.kept_shape = tuple(array.shape[each] for each in self.kept)
        # Indices of dimensions that stand together take their place; others come first.
        self.first = sum(each < dims[0] for each in self.kept) if dims == [*range(dims[0], dims[-1] + 1)] else 0
        #: A size and a step for each index.
        self.numbers = [number for each in dims for number in (array.shape[each], array.strides[each])]

    def operands(self, array: Array, other: Operand) -> list[Operand]:
        """Return the array, the one with the dimensions of the result, and the indices; their kept dimensions are outer."""
        last, kept, none = self.first + len(self.shape), (0,) * len(self.kept), (0,) * len(self.shape)
        return [
            Operand(array, tuple(array.strides[each] for each in self.kept), none),
            Operand(other.array, other.outer[: self.first] + other.outer[last:], other.outer[self.first : last]),
            *(Operand(each, kept, broadcast(each, self.shape).outer) for each in self.arrays),
        ]

    def write(self, position: str, start: int, statement: str) -> str:
        """Write the statements that find the place ``s`` by the indices, operands from 2 on; one too far is reported."""
        lines = [f"long s = {position}{start}, fits = 1;"]
        for i, each in enumerate(self.arrays):
            size, load = f"n{2 * i}", read(each.dtype.short, 2 + i, f"{position}{2 + i}")
            lines.append(f"{{ long k = {load}; if (k < -{size} || k >= {size}) {{ FAIL(1, k, {size}); fits = 0; }}")
            lines.append(f"s += (k < 0 ? k + {size} : k) * n{2 * i + 1}; }}")
        return " ".join(["       ", *lines, "if (fits)", statement])


def _columns(index: Array) -> list[Array]:
    """Return an index, or the indices that a mask means."""
    if index.dtype.short not in ("bool", "uint8"):
        return [index]
    found = _find_nonzero(index)
    (rows, dims), (step, column), dtype = found.shape, found.strides, found.dtype
    return [Array(found.block, TensorMeta((rows,), (step,), dtype, dim * column)) for dim in range(dims)]


def _index(self: Array, indices: Sequence[Array | None]) -> Array:
    places = _Places(self, indices)
    result = empty(RULES["index.Tensor"](self.spec, places.metas), self.block.index)
    array, values, *others = places.operands(self, Operand(result, result.strides))
    code = places.write("p", 1, write(self.dtype.short, 0, "p0", read(self.dtype.short, 1, "s")))
    operands = [Operand(each, outer + inner) for each, outer, inner in (values, array, *others)]
    run(Code(code), operands, places.kept_shape + places.shape, numbers=places.numbers)
    return result


def _index_put(self: Array, indices: Sequence[Array | None], values: Array, accumulate: bool = False) -> Array:
    """Write in the order of the indices, so that the last of several values for a place stays, and sums are repeatable."""
    places = _Places(self, indices)
    meta = RULES["index.Tensor"](self.spec, places.metas)
    RULES["index_put_"](self.spec, places.metas, values.spec, accumulate)
    value = f"{read(self.dtype.short, 0, 's')} + " * accumulate + read(values.dtype.short, 1, "q1")
    code = Code(body=places.write("q", 0, write(self.dtype.short, 0, "s", value)))
    operands = places.operands(self, broadcast(values, meta.shape))
    run(code, operands, places.kept_shape, places.shape, numbers=places.numbers)
    return self


ATEN: Final[dict[str, Any]] = {"index.Tensor": _index, "index_put_": _index_put}
