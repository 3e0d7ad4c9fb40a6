"""Memory for large arrays, kept when the last array in it is gone.

The operating system takes longer to give new memory than the elements in it take to compute.

>>> import numpy as np
>>> first = empty(100_000, np.dtype(np.float32))
>>> address = first.__array_interface__["data"][0]
>>> del first
>>> empty(100_000, np.dtype(np.float32)).__array_interface__["data"][0] == address
True
>>> empty_cache()

Note [What the C library keeps]
    NumPy's own arrays come from malloc. glibc's takes blocks larger than a limit from the operating system, and returns the
    end of the heap once more than twice the limit is unused: by default 128 KiB, so that each step of a training loop pays
    for new pages. The limit rises to the size of a larger piece when that is freed, up to 32 MiB. Freeing one of that size,
    which has never been touched, says at once what a program's first large array would say of its own size.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dispatch_core.forks import Order, forkable

#: Bytes from which memory is kept; the C library keeps smaller pieces itself.
SMALL: Final = 1 << 16
#: Bytes that are kept at most.
LIMIT: Final = 1 << 28
#: Bytes of the piece of Note [What the C library keeps]: the greatest that raises the limit, less malloc's own.
_RAISES: Final = (1 << 25) - (1 << 14)

#: Bytes → unused pieces of that size, with their addresses.
_unused: Final[dict[int, list[tuple[int, NDArray[np.uint8]]]]] = {}
_kept = 0
#: Reentrant, because memory may be given back wherever objects are made.
_lock: Final = forkable(Order.MEMORY)


#: What an array interface calls a dtype.
_NAMES: Final[dict[np.dtype[Any], str]] = {}
_BYTES: Final = "|u1"


def _name_of(dtype: np.dtype[Any]) -> str:
    # A dtype that NumPy lacks has no name in the interface; NumPy 2.1 reads beyond its memory where it is called void.
    return dtype.str if dtype.isbuiltin == 1 else _BYTES


class _Block:
    """A piece of memory that arrays lie in; it goes back when the last of them is gone."""

    __slots__ = ("__array_interface__", "__weakref__", "_piece")

    def __init__(self, piece: tuple[int, NDArray[np.uint8]], size: int, dtype: np.dtype[Any]) -> None:
        self._piece = piece
        name = _NAMES.get(dtype) or _NAMES.setdefault(dtype, _name_of(dtype))
        shape = (size * dtype.itemsize if name == _BYTES else size,)
        self.__array_interface__ = {"shape": shape, "typestr": name, "data": (piece[0], False), "version": 3}

    def __del__(self, is_over: Callable[[], bool] = sys.is_finalizing) -> None:
        if not is_over():  # at the interpreter's end the module's names are gone
            _give_back(self._piece)


def empty(size: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Make an uninitialised array of one dimension."""
    global _kept  # a count for the process
    nbytes = size * dtype.itemsize
    if nbytes < SMALL:
        return np.empty(size, dtype)
    with _lock:
        pieces = _unused.get(nbytes)
        piece = pieces.pop() if pieces else None
        if piece is not None:
            _kept -= nbytes
    if piece is None:
        try:
            memory = np.empty(nbytes, np.uint8)
        except MemoryError:
            return np.empty(size, dtype)  # whose error names the elements
        piece = memory.__array_interface__["data"][0], memory
    array = np.asarray(_Block(piece, size, dtype))
    return array if array.dtype is dtype else array.view(dtype)


def _give_back(piece: tuple[int, NDArray[np.uint8]]) -> None:
    global _kept
    nbytes = piece[1].nbytes
    with _lock:
        if _kept + nbytes <= LIMIT:
            _kept += nbytes
            _unused.setdefault(nbytes, []).append(piece)


def _raise_limit() -> None:
    """Make malloc keep memory that is freed; see Note [What the C library keeps]."""
    np.empty(_RAISES, np.uint8)


_raise_limit()


def empty_cache() -> None:
    """Return all unused memory to the operating system."""
    global _kept
    with _lock:
        _unused.clear()
        _kept = 0
