"""Device memory: blocks that are given back into a cache when nobody holds them any more, and statistics.

Note [Size classes]
    A request is rounded up to a class, at most an eighth larger than itself, and a block goes back to the blocks of its
    class and stream. Small ones are cut from segments of ``_SEGMENT`` bytes; every other one is a segment of its own.
    Segments without a block in use are given back to the device by ``empty_cache``, and when the device has no room.

Note [Blocks and streams]
    A block is given out for a stream and, once given back, only for that stream again: whatever was queued with it is done
    before whatever is queued next. A block that another stream works with too must be told so (``Block.record_stream``);
    it rests until that stream has passed the point where it was given back.
"""

from __future__ import annotations

import ctypes
import gc
import os
from collections import Counter, deque
from functools import lru_cache
from typing import Any, Final

from dispatch_core.forks import Order, forkable

from ..acl.constants import (
    ACL_ERROR_BAD_ALLOC,
    ACL_ERROR_RT_DEVICE_OOM,
    ACL_ERROR_RT_MEMORY_ALLOCATION,
    ACL_ERROR_STORAGE_OVER_LIMIT,
    ACL_HBM_MEM,
    ACL_MEM_MALLOC_HUGE_FIRST,
)
from ..acl.errors import OutOfMemoryError
from ..acl.library import bind, call, fail, recent_message
from .device import Stage, at_finalize, guard, opened, session, wait
from .device import current as current_device
from .event import Event
from .stream import Stream, peek

__all__ = [
    "Allocator",
    "Block",
    "allocate",
    "allocator",
    "empty_cache",
    "mem_get_info",
    "memory_stats",
    "record_stream",
    "reset_peak_memory_stats",
]

_LEAST: Final = 512
_SMALL: Final = 256 * 1024
_SEGMENT: Final = 2 * 1024 * 1024
_NO_CACHING: Final = "DISPATCH_NPU_NO_MEMORY_CACHING"
_NO_ROOM: Final = frozenset(
    {ACL_ERROR_RT_MEMORY_ALLOCATION, ACL_ERROR_RT_DEVICE_OOM, ACL_ERROR_BAD_ALLOC, ACL_ERROR_STORAGE_OVER_LIMIT}
)


@lru_cache(maxsize=4096)
def size_class(nbytes: int) -> int:
    """Give the size of the blocks that serve a request: a multiple of 512, with eight steps to each power of two.

    >>> size_class(1), size_class(5000), size_class(1_000_000)
    (512, 5120, 1048576)
    """
    step = max(_LEAST, 1 << (max(nbytes - 1, _LEAST).bit_length() - 4))
    return max(-(-nbytes // step) * step, _LEAST)


class Segment:
    """Memory that came from the device by one call, and how much of it, in how many chunks, was given out."""

    __slots__ = ("chunks", "cursor", "pointer", "size")

    def __init__(self, pointer: int, size: int) -> None:
        self.pointer, self.size = pointer, size
        self.chunks = self.cursor = 0


class Chunk:
    """A part of a segment, of the size of its class, which blocks hold one after the other."""

    __slots__ = ("home", "others", "peers", "pointer", "segment", "size", "stream")

    def __init__(self, home: Allocator, segment: Segment, size: int, stream: int, peers: list[Chunk] | None) -> None:
        self.home, self.segment, self.size, self.stream = home, segment, size, stream
        self.pointer = segment.pointer + segment.cursor
        segment.cursor += size
        segment.chunks += 1
        #: Chunks of its class that wait to be used again; None where nothing is cached.
        self.peers = peers
        #: Other streams that work with it, see Note [Blocks and streams].
        self.others: set[Stream] | None = None


class Block:
    """Device memory for as long as somebody holds this object.

    ``pointer`` is its address, ``nbytes`` how much was asked for, ``size`` how much there is.
    """

    __slots__ = ("__weakref__", "_chunk", "nbytes", "pointer")

    def __init__(self, chunk: Chunk, nbytes: int) -> None:
        self._chunk, self.pointer, self.nbytes = chunk, chunk.pointer, nbytes

    def __del__(self) -> None:
        # See Note [Finalizers call nothing] in device.
        try:
            chunk = self._chunk
        except AttributeError:  # Somebody was interrupted while he made it.
            return
        chunk.home.returned.append(chunk)

    @property
    def size(self) -> int:
        """How many bytes there are, at least as many as were asked for."""
        return self._chunk.size

    @property
    def device(self) -> int:
        """The number of the device."""
        return self._chunk.home.device

    def record_stream(self, stream: Stream) -> None:
        """Note that a stream works with this memory, which was given out for another one."""
        chunk = self._chunk
        if stream.pointer != chunk.stream:
            chunk.others = {stream} if chunk.others is None else chunk.others | {stream}

    def __repr__(self) -> str:
        return f"Block(npu:{self.device}, {self.pointer:#x}, {self.nbytes} bytes)"


class Allocator:
    """The memory of one device. Its device must be the calling thread's own."""

    def __init__(self, device: int) -> None:
        self.device = device
        self._lock: Final = forkable(Order.MEMORY)
        #: Chunks whose blocks are gone. Appended to by finalizers, without a lock.
        self.returned: Final[deque[Chunk]] = deque()
        #: Chunks that other streams may still work with, and the events that tell when they are through.
        self._resting: list[tuple[Chunk, list[Event]]] = []
        #: (stream, size) → chunks that wait to be used again.
        self._free: Final[dict[tuple[int, int], list[Chunk]]] = {}
        #: stream → the segment that small chunks are cut from.
        self._small: Final[dict[int, Segment]] = {}
        self._segments: Final[dict[int, Segment]] = {}
        self._caching = os.environ.get(_NO_CACHING, "0") in ("", "0")
        self._malloc, self._release = bind("aclrtMalloc"), bind("aclrtFree")
        self._allocated = self._reserved = self._retries = self._ooms = 0
        self._peak_allocated = self._peak_reserved = 0

    def allocate(self, nbytes: int, stream: int) -> Block:
        """Give a block of at least ``nbytes`` bytes to work with on a stream. Its elements do not matter.

        Raises ``OutOfMemoryError`` where the device has no room even after the cache was given back.
        """
        size = size_class(nbytes)
        with self._lock:
            if self.returned or self._resting:
                self._take_back()
            try:
                chunk = self._free[stream, size].pop()
            except (KeyError, IndexError):
                chunk = self._cut(size, stream)
            self._allocated += size
            if self._allocated > self._peak_allocated:  # noqa: PLR1730  # max() would be a call in every allocation
                self._peak_allocated = self._allocated
            return Block(chunk, nbytes)

    def _cut(self, size: int, stream: int) -> Chunk:
        peers = self._free.setdefault((stream, size), []) if self._caching else None
        if size > _SMALL or not self._caching:
            return Chunk(self, self._reserve(size), size, stream, peers)
        segment = self._small.get(stream)
        if segment is None or segment.cursor + size > segment.size:
            segment = self._small[stream] = self._reserve(_SEGMENT)
        return Chunk(self, segment, size, stream, peers)

    def _reserve(self, size: int) -> Segment:
        """Ask the device for memory; where it has none, once more after giving back what is cached."""
        pointer = ctypes.c_void_p()
        status = self._ask(pointer, size)
        if status in _NO_ROOM:
            self._retries += 1
            gc.collect()
            self.empty_cache()
            status = self._ask(pointer, size)
            if status in _NO_ROOM:
                self._ooms += 1
                raise OutOfMemoryError(
                    "aclrtMalloc",
                    status,
                    self._figures(size, recent_message()),
                    hint="let go of tensors that are not needed, or work on fewer elements at a time",
                )
        if status:
            fail("aclrtMalloc", status)
        segment = Segment(pointer.value or 0, size)
        self._segments[segment.pointer] = segment
        self._reserved += size
        self._peak_reserved = max(self._peak_reserved, self._reserved)
        return segment

    def _ask(self, pointer: ctypes.c_void_p, size: int) -> int:
        if size >= 1 << 63:  # ctypes would pass what remains of it in 64 bits.
            return ACL_ERROR_RT_MEMORY_ALLOCATION
        status: int = self._malloc(ctypes.byref(pointer), size, ACL_MEM_MALLOC_HUGE_FIRST)
        return status

    def _figures(self, size: int, message: str) -> str:
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        status = bind("aclrtGetMemInfo")(ACL_HBM_MEM, ctypes.byref(free), ctypes.byref(total))
        room = "" if status else f" {_readable(free.value)} of its {_readable(total.value)} are free;"
        told = f" ({message.strip()})" if message.strip() else ""
        return (
            f"npu:{self.device} has no room for {_readable(size)};{room} tensors hold {_readable(self._allocated)}, the"
            f" cache {_readable(self._reserved - self._allocated)}{told}"
        )

    def _take_back(self) -> None:
        """Sort in the chunks whose blocks are gone."""
        returned = self.returned
        while returned:
            chunk = returned.popleft()
            peers = chunk.peers
            if chunk.others is None:
                if peers is None:
                    self._put(chunk)
                else:
                    peers.append(chunk)
                    self._allocated -= chunk.size
                continue
            try:
                events = [stream.record_event() for stream in chunk.others]
            except BaseException:
                returned.append(chunk)
                raise
            chunk.others = None
            self._resting.append((chunk, events))
        while self._resting and all(event.query() for event in self._resting[0][1]):
            self._put(self._resting.pop(0)[0])

    def _put(self, chunk: Chunk) -> None:
        self._allocated -= chunk.size
        if chunk.peers is not None:
            chunk.peers.append(chunk)
        else:
            # Freeing does not wait for what is queued.
            wait("aclrtSynchronizeStream", chunk.stream)
            self._give_back(chunk.segment)

    def _give_back(self, *segments: Segment) -> None:
        """Free memory. One that the device refuses to free is forgotten too: trying again could free another's."""
        failed = 0
        for segment in segments:
            del self._segments[segment.pointer]
            self._reserved -= segment.size
            failed = self._release(segment.pointer) or failed
        if failed:
            fail("aclrtFree", failed)

    def empty_cache(self) -> None:
        """Give segments without a block in use back to the device."""
        with self._lock:
            self._take_back()
            if self._resting:
                for _, events in self._resting:
                    for event in events:
                        event.synchronize()
                self._take_back()
            free = Counter(chunk.segment for chunks in self._free.values() for chunk in chunks)
            unused = {segment for segment, count in free.items() if count == segment.chunks}
            if not unused:
                return
            wait("aclrtSynchronizeDevice")
            for stream, segment in list(self._small.items()):
                if segment in unused:
                    del self._small[stream]
            for chunks in self._free.values():
                chunks[:] = [chunk for chunk in chunks if chunk.segment not in unused]
            self._give_back(*unused)

    def close(self) -> None:
        """Give back everything, in use or not."""
        with self._lock:
            self._free.clear()
            self._small.clear()
            self._give_back(*self._segments.values())

    def stats(self) -> dict[str, int]:
        """Give the figures, named as torch names them."""
        with self._lock:
            self._take_back()
            waiting = sum(map(len, self._free.values()))
            return {
                "allocated_bytes.all.current": self._allocated,
                "allocated_bytes.all.peak": self._peak_allocated,
                "reserved_bytes.all.current": self._reserved,
                "reserved_bytes.all.peak": self._peak_reserved,
                "active.all.current": sum(segment.chunks for segment in self._segments.values()) - waiting,
                "segment.all.current": len(self._segments),
                "num_alloc_retries": self._retries,
                "num_ooms": self._ooms,
            }

    def reset_peaks(self) -> None:
        """Let the peaks begin at the current figures."""
        with self._lock:
            self._take_back()
            self._peak_allocated, self._peak_reserved = self._allocated, self._reserved


def _readable(nbytes: int) -> str:
    """Give a number of bytes as people read it.

    >>> _readable(1536 * 1024 * 1024), _readable(100)
    ('1.50 GiB', '100 bytes')
    """
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if nbytes >= 1 << power:
            return f"{nbytes / (1 << power):.2f} {unit}"
    return f"{nbytes} bytes"


def allocator() -> Allocator:
    """Give the allocator of the thread's device."""
    stream = peek()
    if stream.allocator is None:
        allocators = session().allocators
        if stream.device not in allocators:
            allocators.setdefault(stream.device, Allocator(stream.device))
        stream.allocator = allocators[stream.device]
    found: Allocator = stream.allocator
    return found


def allocate(nbytes: int) -> Block:
    """Give a block of memory on the thread's device, to work with on its current stream.

    Raises as ``Allocator.allocate`` does.
    """
    stream = peek()
    found: Allocator = stream.allocator or allocator()
    return found.allocate(nbytes, stream.pointer)


def record_stream(array: Any, stream: Stream) -> None:
    """Note that a stream works with an array's memory; see ``Block.record_stream``."""
    array.block.record_stream(stream)


def empty_cache() -> None:
    """Give what is cached back to every device that was opened."""
    for device in opened():
        with guard(device):
            allocator().empty_cache()


def memory_stats(device: int | None = None) -> dict[str, int]:
    """Give the figures of a device's memory, named as torch names them; none where it has not been opened."""
    number = current_device() if device is None else device
    if number not in opened():
        return {}
    with guard(number):
        return allocator().stats()


def reset_peak_memory_stats(device: int | None = None) -> None:
    """Let the peaks of a device's figures begin at what is held now."""
    with guard(device):
        allocator().reset_peaks()


def mem_get_info(device: int | None = None) -> tuple[int, int]:
    """Give how many bytes of a device's memory are free, and how many there are."""
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    with guard(device):
        call("aclrtGetMemInfo", ACL_HBM_MEM, ctypes.byref(free), ctypes.byref(total))
    return free.value, total.value


def _close(device: int) -> None:
    found = session().allocators.pop(device, None)
    if found is not None:
        found.close()


at_finalize(Stage.MEMORY, _close)
