"""Buffers that chains work in, kept from run to run."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ..arrays import Array
from .space import TILE

#: How many sets of buffers are kept for later.
_POOLED: Final = 4
#: Sets of buffers that no chain is using.
_POOL: Final[list[list[Array]]] = []
#: Bytes of a cache line, of a page, and of the widest elements.
_LINE: Final = 64
_PAGE: Final = 4096
_WIDEST: Final = 16


def take_buffers(dtypes: list[np.dtype[Any]], size: int) -> tuple[list[Array], list[Array]]:
    """Take buffers out of the pool: the set to return, and for each dtype an array of ``size`` elements in it."""
    try:
        buffers = _POOL.pop()
    except IndexError:
        buffers = []
    while len(buffers) < len(dtypes):
        buffers.append(_allocate(len(buffers)))
    return buffers, [
        buffer[: size * dtype.itemsize].view(dtype) for buffer, dtype in zip(buffers, dtypes, strict=False)
    ]


def return_buffers(buffers: list[Array]) -> None:
    """Put a set of buffers back into the pool."""
    if len(_POOL) < _POOLED:
        _POOL.append(buffers)


def _allocate(number: int) -> Array:
    """Make a buffer that begins with a cache line, and elsewhere in its page than the others and the arrays of NumPy.

    Where reads and writes fall on the same places of their pages, the processor takes one for the other and waits.
    """
    raw = np.empty(TILE * _WIDEST + 2 * _PAGE, np.uint8)
    start = (1344 * (number + 1) // _LINE * _LINE - raw.__array_interface__["data"][0]) % _PAGE
    return raw[start : start + TILE * _WIDEST]
