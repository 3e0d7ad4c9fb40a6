"""Files that are mapped into memory, in which tensors lie."""

from __future__ import annotations

import mmap
import os
from typing import IO, Any, Final
from weakref import WeakKeyDictionary

import numpy as np

from dispatch_core.frontends import Window

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
#: A mapping in which tensors lie → the device and number of its file.
_mapped: Final[WeakKeyDictionary[mmap.mmap, tuple[int, int]]] = WeakKeyDictionary()


def map_open_file(file: IO[bytes], nbytes: int, access: int) -> Bytes:
    """Return the first bytes of a file, 0 for all, which has some; the array keeps the mapping."""
    mapping = mmap.mmap(file.fileno(), nbytes, access=access)
    status = os.fstat(file.fileno())
    _mapped[mapping] = status.st_dev, status.st_ino
    return np.frombuffer(mapping, np.uint8)


def map_file(path: str | os.PathLike[str], is_shared: bool, nbytes: int) -> Bytes:
    """Return the bytes of a file in its own memory, or in private pages of it; see `UntypedStorage.from_file`."""
    how = os.O_RDWR | os.O_CREAT if is_shared else os.O_RDONLY
    with open(os.open(path, how | getattr(os, "O_BINARY", 0)), "r+b" if is_shared else "rb") as file:  # noqa: PTH123
        status = os.fstat(file.fileno())
        size = status.st_size
        if is_shared and size < nbytes:
            file.truncate(nbytes)
            size = nbytes
        if size < nbytes:
            raise RuntimeError(
                f"file <{os.fspath(path)}> size <{size}> is smaller than the required mapping size <{nbytes}>"
            )
        if not (nbytes or size):
            return np.empty(0, np.uint8)
        access = mmap.ACCESS_WRITE if is_shared else mmap.ACCESS_COPY
        return map_open_file(file, nbytes or size, access)


def is_mapped(status: os.stat_result) -> bool:
    """Return whether tensors of this process lie in a file."""
    return (status.st_dev, status.st_ino) in [*_mapped.values()]


def cut(memory: Any, start: int, stop: int) -> Any:
    """Return some bytes of an array of them as memory with bounds of its own, for a storage.

    >>> cut(np.arange(5, dtype=np.uint8), 1, 3)
    array([1, 2], dtype=uint8)
    """
    part = memory[start:stop]
    interface = part.__array_interface__
    interface["strides"] = None
    return np.asarray(Window(part, interface)) if part.size else np.empty(0, np.uint8)
