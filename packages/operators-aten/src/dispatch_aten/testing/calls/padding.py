"""Right calls of operators of ``padding.rows`` that follow one pattern."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..drawing import CallRow, call


def _pads(count: int) -> Iterator[CallRow]:
    name, sizes, pad = f"{count}d", (4, 5, 4)[:count], [2, 1, 1, 3, 0, 2][: 2 * count]
    padded = [size + pad[-2 * dim - 2] + pad[-2 * dim - 1] for dim, size in enumerate(sizes)]
    for kind in ("reflection", "replication"):
        yield call(f"{kind}_pad{name}", lambda r: (r.f(2, 2, *sizes), pad))
        yield call(f"{kind}_pad{name}_backward", lambda r: (r.f(2, 2, *padded), r.f(2, 2, *sizes), pad))


def _list_calls() -> Iterator[CallRow]:
    for count in (1, 2, 3):
        yield from _pads(count)
    yield call("constant_pad_nd", lambda r: (r.f(2, 3, 4), [1, 2, -1, 3], 2.5))
    yield call("constant_pad_nd", lambda r: (r.f(2, 3, 4), [-1, 0]))
    for mode in ("constant", "reflect", "replicate", "circular"):
        yield call("pad", lambda r, mode=mode: (r.f(2, 3, 4, 5), [1, 2, 3, 0], mode))
    yield call("_pad_enum", lambda r: (r.f(2, 3, 4), [1, 2], 1))
    yield call("_pad_circular", lambda r: (r.f(2, 3, 4), [3, -1]))


CALLS: Final = tuple(_list_calls())
