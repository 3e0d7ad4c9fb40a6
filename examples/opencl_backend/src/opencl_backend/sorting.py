"""Sorting: merge sort, each of whose passes is a kernel, where every element finds its place in the merged run by itself."""

from __future__ import annotations

from typing import Any, Final

from dispatch_aten.dtypes import ScalarType
from dispatch_aten.shapes import cached_rule, contiguous, wrap_dim

from .arrays import Array, empty
from .ctypes import C_TYPES
from .nest import Code, Operand, run
from .reductions import keep

#: Whether ``x`` comes before ``y``: nan is greater than all numbers.
_BEFORE: Final = {False: "({x} < {y} || ({y} != {y} && {x} == {x}))", True: "({x} > {y} || ({x} != {x} && {y} == {y}))"}

#: The run of an element's neighbours has the width ``n1``, a row ``n0`` elements. Of equal elements those of the left run
#: come first, so that the order is stable.
_MERGE: Final = """
    const long column = item % n0, row = item - column, start = column / (2 * n1) * (2 * n1);
    const long middle = min(start + n1, n0), end = min(start + 2 * n1, n0);
    const int left = column < middle;
    const {value} a = {item};
    long low = left ? middle : start, high = left ? end : middle;
    while (low < high) {{
        const long half_way = (low + high) / 2;
        const {value} b = {other};
        if (left ? {b_before_a} : !{a_before_b}) low = half_way + 1; else high = half_way;
    }}
    const long place = row + column + low - middle;
    {store}
    m1[place] = n1 == 1 ? column : m3[item];
"""


def _sort(self: Array, *, stable: bool | None = None, dim: int = -1, descending: bool = False) -> tuple[Array, Array]:
    specs = cached_rule("sort.stable")(self, stable=stable, dim=dim, descending=descending)
    results = [empty(spec, self.block.index) for spec in specs]
    dims = (wrap_dim(dim, len(self.shape)),) if self.shape else ()
    shape = (*keep(self.shape, dims), *(self.shape[d] for d in dims))
    size = shape[-1] if shape else 1

    # Rows are sorted in two row-major arrays, of which each pass reads one and writes the other.
    def last(array: Array) -> Operand:
        return Operand(array, (*keep(array.strides, dims), *(array.strides[d] for d in dims)))

    (keys, places), (keys2, places2) = (
        [empty(contiguous(shape, dtype), self.block.index) for dtype in (self.dtype, ScalarType.Long)] for _ in range(2)
    )
    kind = C_TYPES[str(self.dtype)]
    copy = Code(f"    {kind.write_store('m0', 'p0', kind.load.format(m='m1', p='p1'))}")
    run(copy, [Operand(keys, keys.strides), last(self)], shape)
    run(Code("    m0[p0] = 0;"), [Operand(places, places.strides)], shape)
    merge = Code(
        _MERGE.format(
            value=kind.value,
            item=kind.load.format(m="m2", p="item"),
            other=kind.load.format(m="m2", p="row + half_way"),
            a_before_b=_BEFORE[descending].format(x="a", y="b"),
            b_before_a=_BEFORE[descending].format(x="b", y="a"),
            store=kind.write_store("m0", "place", "a"),
        )
    )
    width = 1
    while width < size:
        run(
            merge,
            [Operand(each, each.strides) for each in (keys2, places2, keys, places)],
            shape,
            numbers=[size, width],
            writes=2,
        )
        keys, keys2, places, places2 = keys2, keys, places2, places
        width *= 2
    run(copy, [last(results[0]), Operand(keys, keys.strides)], shape)
    run(Code("    m0[p0] = m1[p1];"), [last(results[1]), Operand(places, places.strides)], shape)
    return results[0], results[1]


ATEN: Final[dict[str, Any]] = {"sort.stable": _sort}
