"""Memory of the device from two functions of another library, in place of the runtime's own.

The library has one function that gives memory and one that takes it back:
``void *(ssize_t size, int device, aclrtStream stream)`` and ``void (void *memory, size_t size, aclrtStream stream)``.
Each block is asked for by itself then, and nothing is cached: how to keep memory is the library's affair.
"""

from __future__ import annotations

import ctypes
from typing import Any

from dispatch_core import BackendError

from .device import ensure_session, is_initialized

__all__ = ["ForeignMemory", "foreign_memory", "use_foreign_memory"]


class ForeignMemory:
    """The two functions of a library, by their names. Raises ``BackendError`` where it, or one of them, is missing."""

    def __init__(self, library: str, give: str, take: str) -> None:
        try:
            loaded = ctypes.CDLL(library)
        except OSError as error:
            raise BackendError(
                f"the library {library!r} cannot be loaded: {error}", hint="name a shared library"
            ) from None
        found = [getattr(loaded, name, None) for name in (give, take)]
        if None in found:
            missing = (give, take)[found.index(None)]
            raise BackendError(f"the library {library!r} has no function {missing!r}", hint='declare it extern "C"')
        self._give: Any
        self._take: Any
        self._give, self._take = found
        self._give.restype, self._give.argtypes = ctypes.c_void_p, [ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]
        self._take.restype, self._take.argtypes = None, [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]

        #: Address → the size of the memory there, and the stream that it was given for.
        self._given: dict[int, tuple[int, int]] = {}

    def give(self, size: int, device: int, stream: int) -> int:
        """Return the address of memory, 0 where there is none."""
        pointer: int = self._give(size, device, stream) or 0
        if pointer:
            self._given[pointer] = size, stream
        return pointer

    def take(self, pointer: int) -> None:
        """Give memory back."""
        self._take(pointer, *self._given.pop(pointer))


_used: ForeignMemory | None = None


def foreign_memory() -> ForeignMemory | None:
    """Return the functions that give memory in place of the runtime's own, None where these do."""
    return _used


def use_foreign_memory(functions: ForeignMemory | None) -> None:
    """Take all memory of devices from these functions from now on; None for the runtime's own.

    Raises ``BackendError`` where a device has given memory already.
    """
    global _used
    if is_initialized() and ensure_session().allocators:
        raise BackendError(
            "memory of a device has been allocated already, so its allocator cannot be replaced",
            hint="replace it before the first tensor is made on a device",
        )
    _used = functions
