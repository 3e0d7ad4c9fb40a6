"""Memory: blocks that remember which commands use them, and a pool. The device's interface takes this module, too."""

from __future__ import annotations

import contextlib
import functools
import gc
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import pyopencl as cl

from . import streams
from .driver import find_devices, is_open, open_context

_lock: Final = threading.RLock()  # a block may die while its thread counts
#: Free buffers by device and size, each with the commands that still use it.
_free: Final[dict[tuple[int, int], list[Any]]] = defaultdict(list)
#: Bytes that arrays have, and bytes that the driver has given: by device, now and at most.
_KINDS: Final = ("allocated", "reserved")
_used: Final[dict[tuple[int, str], int]] = defaultdict(int)
_peak: Final[dict[tuple[int, str], int]] = defaultdict(int)


class OutOfMemoryError(MemoryError):
    """A device has no memory left."""


class Block:
    """A piece of a device's memory, which views share; the pool gets it back when no array has it any more.

    The block remembers its last writer and its readers since, so that a command on another stream can wait for them. Its
    next owner inherits these: memory is used again at once, while commands of the last owner may still run.
    """

    __slots__ = ("__weakref__", "buffer", "capacity", "index", "nbytes", "readers", "writer")

    def __init__(self, nbytes: int, index: int) -> None:
        self.nbytes, self.index, mebibyte = nbytes, index, 1 << 20
        # A power of two, or whole mebibytes.
        self.capacity = (
            max(256, 1 << (nbytes - 1).bit_length()) if nbytes <= mebibyte else -(-nbytes // mebibyte) * mebibyte
        )
        try:
            self.buffer, self.writer, self.readers = _free[index, self.capacity].pop()
        except IndexError:
            self.buffer, self.writer, self.readers = _allocate(self.capacity, index), None, {}
        _count(index, "allocated", self.capacity)

    def __del__(self) -> None:
        # It has no buffer if there was no memory for it; and a forked process has nothing of the driver.
        if hasattr(self, "buffer") and is_open():
            _count(self.index, "allocated", -self.capacity)
            _free[self.index, self.capacity].append((self.buffer, self.writer, self.readers))


def submit(
    enqueue: Callable[..., Any], *arguments: Any, reads: Sequence[Block] = (), writes: Sequence[Block] = ()
) -> Any:
    """Call ``enqueue(queue, *arguments, wait_for=…)`` for the thread's stream of the blocks' device; return the command.

    It waits for the commands of other streams that use the blocks; those of its own stream are in order.
    """
    open_context()  # refuses a forked process
    from .plugin import INTERFACE

    queue: Any = INTERFACE.queue  # the conformance kit replaces it by one that delays
    stream = streams.current((*writes, *reads)[0].index)
    with _lock:  # a kernel keeps its arguments between calls, and a block its commands: one thread submits at a time
        uses = [block.writer for block in (*reads, *writes) if block.writer]
        uses += [reader for block in writes for reader in block.readers.items()]
        others = [command for other, command in uses if other is not stream]
        function = functools.partial(enqueue, wait_for=others or None)
        command = stream.last = queue(function, stream.queue, *arguments)
        for block in reads:
            block.readers[stream] = command
        for block in writes:
            block.writer, block.readers = (stream, command), {}
    # Without this a command of another stream could wait for one that the driver has not begun.
    stream.queue.flush()
    return command


def _count(index: int, kind: str, nbytes: int) -> None:
    with _lock:
        _used[index, kind] += nbytes
        _peak[index, kind] = max(_peak[index, kind], _used[index, kind])


def _allocate(capacity: int, index: int) -> Any:
    for _ in range(2):
        with contextlib.suppress(cl.MemoryError):
            if _used[index, "reserved"] + capacity <= total_memory(index):
                buffer = cl.Buffer(open_context(), cl.mem_flags.READ_WRITE, capacity)
                _count(index, "reserved", capacity)
                return buffer
        gc.collect()  # there may be memory that cycles of objects hold, or that is free in other sizes
        empty_cache()
    total, used = total_memory(index), _used[index, "reserved"]
    raise OutOfMemoryError(f"opencl:{index} has {total - used} of {total} bytes left, of which {capacity} were wanted")


def empty_cache() -> None:
    """Give free buffers back to the driver, which keeps each until the commands that use it are done."""
    for (index, capacity), buffers in list(_free.items()):
        while buffers:
            buffers.pop()
            _count(index, "reserved", -capacity)


def total_memory(index: int) -> int:
    """Return the bytes of memory of a device; halves of a processor share its memory."""
    return int(find_devices()[index].global_mem_size) // len(find_devices())


def stats(index: int) -> dict[str, int]:
    """Return the bytes that arrays and the pool have, now and at most."""
    figures = {"current": _used, "peak": _peak}
    return {f"{kind}_bytes.all.{name}": figures[name][index, kind] for kind in _KINDS for name in figures}


def info(index: int) -> tuple[int, int]:
    """Return the free and the total bytes of a device."""
    return total_memory(index) - _used[index, "allocated"], total_memory(index)


def reset_peaks(index: int) -> None:
    """Count peaks from now on."""
    for kind in _KINDS:
        _peak[index, kind] = _used[index, kind]


def allocate_on_host(nbytes: int) -> Any:
    """Return host memory that the driver has pinned, and from which it copies without a stop; it stays mapped."""
    flags, access = cl.mem_flags, cl.map_flags.READ | cl.map_flags.WRITE
    buffer = cl.Buffer(open_context(), flags.READ_WRITE | flags.ALLOC_HOST_PTR, max(nbytes, 1))
    enqueue: Any = cl.enqueue_map_buffer  # whose annotations do not take these
    return enqueue(streams.default(0).queue, buffer, access, 0, (nbytes,), np.uint8)[0]
