"""Memory: blocks that remember which commands use them, and a pool. The device's interface takes this module, too."""

from __future__ import annotations

import gc
import threading
from collections import defaultdict
from typing import Any, Final

import numpy as np
import pyopencl as cl

from . import streams
from .driver import find_devices, is_open, open_context
from .streams import Stream


class OutOfMemoryError(MemoryError):
    """A device has no memory left."""


class Block:
    """A piece of a device's memory, which views share; the pool gets it back when no array has it any more.

    The block remembers its last writer and its readers since, so that a command on another stream can wait for them. Its
    next owner inherits these: memory is used again at once, while commands of the last owner may still run.
    """

    __slots__ = ("__weakref__", "buffer", "capacity", "index", "nbytes", "readers", "writer")

    def __init__(self, nbytes: int, index: int) -> None:
        self.nbytes, self.index = nbytes, index
        self.capacity = _round_up(nbytes)
        self.buffer, self.writer, self.readers = _pool.take(self.capacity, index)

    def __del__(self) -> None:
        # It has none if there was no memory for it; and a forked process has nothing of the driver.
        if hasattr(self, "buffer") and is_open():
            _pool.give_back(self)

    def commands_before(self, stream: Stream, writes: bool) -> list[Any]:
        """Return the commands of other streams that a use of the block has to wait for; a stream itself is in order."""
        before = [self.writer] if self.writer else []
        if writes:
            before += self.readers.items()
        return [command for other, command in before if other is not stream]

    def used_by(self, stream: Stream, command: Any, writes: bool) -> None:
        """Remember a command that uses the block."""
        if writes:
            self.writer, self.readers = (stream, command), {}
        else:
            self.readers[stream] = command


def _round_up(nbytes: int) -> int:
    """Return the size of the block for so many bytes: a power of two, or whole mebibytes."""
    mebibyte = 1 << 20
    return -(-nbytes // mebibyte) * mebibyte if nbytes > mebibyte else max(256, 1 << (nbytes - 1).bit_length())


class _Pool:
    """Free buffers by device and size, and figures under torch's names."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # a block may die while its thread counts
        self.free: dict[tuple[int, int], list[Any]] = defaultdict(list)
        self.used: dict[tuple[int, str], int] = defaultdict(int)
        self.peak: dict[tuple[int, str], int] = defaultdict(int)

    def count(self, index: int, kind: str, nbytes: int) -> None:
        key = index, kind
        with self.lock:
            self.used[key] += nbytes
            self.peak[key] = max(self.peak[key], self.used[key])

    def take(self, capacity: int, index: int) -> tuple[Any, Any, dict[Stream, Any]]:
        try:
            found = self.free[index, capacity].pop()
        except IndexError:
            found = self.allocate(capacity, index), None, {}
        self.count(index, "allocated", capacity)
        return found

    def allocate(self, capacity: int, index: int) -> Any:
        for attempt in range(2):
            if self.used[index, "reserved"] + capacity <= total_memory(index):
                try:
                    buffer = cl.Buffer(open_context(), cl.mem_flags.READ_WRITE, capacity)
                    self.count(index, "reserved", capacity)
                    return buffer
                except cl.MemoryError:
                    pass
            if not attempt:  # memory that cycles of objects hold, and that is free in other sizes
                gc.collect()
                self.empty()
        free = total_memory(index) - self.used[index, "reserved"]
        raise OutOfMemoryError(
            f"opencl:{index} has {free} of {total_memory(index)} bytes left, of which {capacity} were wanted"
        )

    def give_back(self, block: Block) -> None:
        self.count(block.index, "allocated", -block.capacity)
        self.free[block.index, block.capacity].append((block.buffer, block.writer, block.readers))

    def empty(self) -> None:
        for (index, capacity), buffers in list(self.free.items()):
            while buffers:  # the driver keeps a buffer until the commands that use it are done
                buffers.pop()
                self.count(index, "reserved", -capacity)


_pool: Final = _Pool()
#: Bytes that arrays have, and bytes that the driver has given.
_KINDS: Final = ("allocated", "reserved")
empty_cache: Final = _pool.empty


def total_memory(index: int) -> int:
    """Return the bytes of memory of a device; halves of a processor share its memory."""
    return int(find_devices()[index].global_mem_size) // len(find_devices())


def stats(index: int) -> dict[str, int]:
    """Return the bytes that arrays and the pool have, now and at most."""
    figures = {"current": _pool.used, "peak": _pool.peak}
    return {f"{kind}_bytes.all.{name}": figures[name][index, kind] for kind in _KINDS for name in figures}


def info(index: int) -> tuple[int, int]:
    """Return the free and the total bytes of a device."""
    return total_memory(index) - _pool.used[index, "allocated"], total_memory(index)


def reset_peaks(index: int) -> None:
    """Count peaks from now on."""
    for kind in _KINDS:
        _pool.peak[index, kind] = _pool.used[index, kind]


def allocate_on_host(nbytes: int) -> Any:
    """Return host memory that the driver has pinned, and from which it copies without a stop; it stays mapped."""
    context, flags = open_context(), cl.mem_flags.READ_WRITE | cl.mem_flags.ALLOC_HOST_PTR
    buffer = cl.Buffer(context, flags, max(nbytes, 1))
    access = cl.map_flags.READ | cl.map_flags.WRITE
    enqueue: Any = cl.enqueue_map_buffer  # whose annotations do not take these
    return enqueue(streams.default(0).queue, buffer, access, 0, (nbytes,), np.uint8)[0]
