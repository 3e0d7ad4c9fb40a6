"""A caching allocator of device memory, and its statistics.

A small request is rounded up to a size class, by at most an eighth; its chunk is carved from a segment of a page, and
cached by its class and stream. Large chunks are split off longer ones, and merged again (``splitting``). Segments
without a chunk in use are returned to the device by ``empty_cache``, and when the device is out of memory.

Note [Blocks and streams]
    A block is allocated for a stream, and its chunk is used again for that stream only: the work that was queued on it
    is done before the work that is queued next. When another stream works with it too (``MemoryBlock.record_stream``),
    the chunk is cached only after that stream has passed the point at which the block was freed.
"""

from __future__ import annotations

import ctypes
import gc
import os
from collections import Counter, deque
from collections.abc import Iterator
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
from .chunks import PAGE, PIECE, SMALL, Chunk, Segment, size_class, taken_by
from .device import current as current_device
from .device import ensure_session, guard, opened_devices, wait
from .event import Event
from .foreign_memory import foreign_memory
from .session import Stage, at_finalize
from .splitting import SplitPool, chunk_size, own_segment, segment_size
from .stream import Stream, peek

#: With what the runtime adds, a segment of small chunks is one page.
_SEGMENT: Final = PAGE - PIECE
_NO_CACHING: Final = "DISPATCH_NPU_NO_MEMORY_CACHING"
_NO_ROOM: Final = frozenset(
    {ACL_ERROR_RT_MEMORY_ALLOCATION, ACL_ERROR_RT_DEVICE_OOM, ACL_ERROR_BAD_ALLOC, ACL_ERROR_STORAGE_OVER_LIMIT}
)


class MemoryBlock:
    """Device memory that lives as long as this object.

    ``pointer`` is its address, ``nbytes`` the size that was requested, ``size`` the size of the chunk.
    """

    __slots__ = ("__weakref__", "_chunk", "nbytes", "pointer")

    def __init__(self, chunk: Chunk, nbytes: int) -> None:
        self._chunk, self.pointer, self.nbytes = chunk, chunk.pointer, nbytes

    def __del__(self) -> None:
        # See Note [Finalizers call nothing] in device.
        try:
            chunk = self._chunk
        except AttributeError:  # An interrupt came during its construction.
            return
        chunk.home.returned.append(chunk)

    @property
    def size(self) -> int:
        """The size in bytes, at least as large as requested."""
        return self._chunk.size

    @property
    def device(self) -> int:
        """The number of the device."""
        return self._chunk.home.device

    def record_stream(self, stream: Stream) -> None:
        """Declare that a stream works with this memory, which was allocated for another stream."""
        chunk = self._chunk
        if stream.pointer != chunk.stream:
            chunk.other_streams = {stream} if chunk.other_streams is None else chunk.other_streams | {stream}

    def __repr__(self) -> str:
        return f"MemoryBlock(npu:{self.device}, {self.pointer:#x}, {self.nbytes} bytes)"


class Allocator:
    """The memory of one device. Its device must be the calling thread's own."""

    def __init__(self, device: int) -> None:
        self.device = device
        self._lock: Final = forkable(Order.MEMORY)
        #: Chunks whose blocks were collected. Finalizers append to it, without a lock.
        self.returned: Final[deque[Chunk]] = deque()
        #: Chunks that other streams may still work with, and the events at which these streams are done.
        self._awaited: list[tuple[Chunk, list[Event]]] = []
        #: (stream, size) → free chunks.
        self._free: Final[dict[tuple[int, int], list[Chunk]]] = {}
        #: stream → free large chunks.
        self._large: Final[dict[int, SplitPool]] = {}
        #: stream → the segment from which small chunks are carved.
        self._small: Final[dict[int, Segment]] = {}
        self._segments: Final[dict[int, Segment]] = {}
        self._foreign = foreign_memory()
        self._caching = self._foreign is None and os.environ.get(_NO_CACHING, "0") in ("", "0")
        self._malloc, self._release = bind("aclrtMalloc"), bind("aclrtFree")
        self._allocated = self._reserved = self._retries = self._ooms = 0
        self._peak_allocated = self._peak_reserved = 0
        #: The share of the device's memory that the process may reserve, and the bytes of it; None for all.
        self._fraction = 1.0
        self._limit: int | None = None

    def allocate(self, nbytes: int, stream: int) -> MemoryBlock:
        """Return a block of at least ``nbytes`` bytes for work on a stream, with undefined contents.

        Raises ``OutOfMemoryError`` where the device has no room even after the cache was emptied.
        """
        size = size_class(nbytes)
        with self._lock:
            if self.returned or self._awaited:
                self._reclaim()
            if size > SMALL and self._caching:
                chunk = self._split(chunk_size(nbytes), stream)
            else:
                try:
                    chunk = self._free[stream, size].pop()
                except (KeyError, IndexError):
                    chunk = self._carve(size, stream)
            self._allocated += chunk.size
            if self._allocated > self._peak_allocated:  # noqa: PLR1730  # max() would be a call in every allocation
                self._peak_allocated = self._allocated
            return MemoryBlock(chunk, nbytes)

    def _carve(self, size: int, stream: int) -> Chunk:
        """Return a chunk where none of its class is free."""
        if not self._caching:
            segment = self._reserve(size)
            segment.cursor = size
            return Chunk(self, segment, size, stream, None, segment.pointer)
        peers = self._free.setdefault((stream, size), [])
        found = self._small.get(stream)
        if found is None or found.cursor + size > found.size:
            found = self._small[stream] = self._reserve(_SEGMENT)
        chunk = Chunk(self, found, size, stream, peers, found.pointer + found.cursor)
        found.cursor += size
        return chunk

    def _split(self, size: int, stream: int) -> Chunk:
        """Return a large chunk: a part of a free one, or of a new segment."""
        pool = self._large.get(stream) or self._large.setdefault(stream, SplitPool())
        chunk = pool.take(size)
        if chunk is None:
            segment = self._reserve(segment_size(size), own_segment(size))
            segment.cursor = segment.size
            chunk = pool.cut(Chunk(self, segment, segment.size, stream, pool, segment.pointer), size)
        return chunk

    def _reserve(self, size: int, least: int | None = None) -> Segment:
        """Request memory from the device; where there is none, with an empty cache, and then ``least`` bytes."""
        pointer = ctypes.c_void_p()
        status = self._ask(pointer, size)
        if status in _NO_ROOM:
            self._retries += 1
            gc.collect()
            self.empty_cache()
            status = self._ask(pointer, size)
            if status in _NO_ROOM and least is not None and least < size:
                size = least
                status = self._ask(pointer, size)
            if status in _NO_ROOM:
                self._ooms += 1
                raise OutOfMemoryError(
                    "aclrtMalloc",
                    status,
                    self._out_of_memory_message(size, recent_message()),
                    hint="delete tensors that are not needed, or work on fewer elements at a time",
                ) from None  # that the cache had nothing says nothing to the user
        if status:
            fail("aclrtMalloc", status)
        segment = Segment(pointer.value or 0, size)
        self._segments[segment.pointer] = segment
        self._reserved += segment.pages
        self._peak_reserved = max(self._peak_reserved, self._reserved)
        return segment

    def _ask(self, pointer: ctypes.c_void_p, size: int) -> int:
        if size >= 1 << 63:  # ctypes would pass its lowest 64 bits.
            return ACL_ERROR_RT_MEMORY_ALLOCATION
        if self._limit is not None and self._reserved + taken_by(size) > self._limit:
            return ACL_ERROR_STORAGE_OVER_LIMIT
        if self._foreign is not None:
            pointer.value = self._foreign.give(size, self.device, peek().pointer)
            return 0 if pointer.value else ACL_ERROR_RT_MEMORY_ALLOCATION
        status: int = self._malloc(ctypes.byref(pointer), size, ACL_MEM_MALLOC_HUGE_FIRST)
        return status

    def _out_of_memory_message(self, size: int, message: str) -> str:
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        status = bind("aclrtGetMemInfo")(ACL_HBM_MEM, ctypes.byref(free), ctypes.byref(total))
        room = "" if status else f" {_format_bytes(free.value)} of its {_format_bytes(total.value)} are free;"
        detail = f" ({message.strip()})" if message.strip() else ""
        if self._limit is not None:
            detail += f"; this process may reserve {_format_bytes(self._limit)} of it"
        return (
            f"npu:{self.device} has no room for {_format_bytes(size)};{room} tensors hold {_format_bytes(self._allocated)},"
            f" the cache {_format_bytes(self._reserved - self._allocated)}{detail}"
        )

    def _reclaim(self) -> None:
        """Cache or free the chunks whose blocks were collected."""
        returned = self.returned
        while returned:
            chunk = returned.popleft()
            peers = chunk.peers
            if chunk.other_streams is None:
                if peers is None:
                    self._recycle(chunk)
                else:
                    # Before it may become a part of another.
                    self._allocated -= chunk.size
                    peers.append(chunk)
                continue
            try:
                events = [stream.record_event() for stream in chunk.other_streams]
            except BaseException:
                returned.append(chunk)
                raise
            chunk.other_streams = None
            self._awaited.append((chunk, events))
        while self._awaited and all(event.query() for event in self._awaited[0][1]):
            self._recycle(self._awaited.pop(0)[0])

    def _recycle(self, chunk: Chunk) -> None:
        self._allocated -= chunk.size
        if chunk.peers is not None:
            chunk.peers.append(chunk)
        else:
            # aclrtFree does not wait for queued work.
            wait("aclrtSynchronizeStream", chunk.stream)
            self._free_segments(chunk.segment)

    def _free_segments(self, *segments: Segment) -> None:
        """Free segments. One that the device refuses to free is dropped too: its address may be another's later."""
        failed = 0
        for segment in segments:
            del self._segments[segment.pointer]
            self._reserved -= segment.pages
            if self._foreign is not None:
                self._foreign.take(segment.pointer)
            else:
                failed = self._release(segment.pointer) or failed
        if failed:
            fail("aclrtFree", failed)

    def empty_cache(self) -> None:
        """Return segments without a block in use to the device."""
        with self._lock:
            self._reclaim()
            if self._awaited:
                for _, events in self._awaited:
                    for event in events:
                        event.synchronize()
                self._reclaim()
            free = Counter(chunk.segment for chunk in self._free_chunks())
            unused = {segment for segment, count in free.items() if count == segment.chunks}
            if not unused:
                return
            wait("aclrtSynchronizeDevice")
            for stream, segment in list(self._small.items()):
                if segment in unused:
                    del self._small[stream]
            for chunks in self._free.values():
                chunks[:] = [chunk for chunk in chunks if chunk.segment not in unused]
            for pool in self._large.values():
                pool.drop(unused)
            self._free_segments(*unused)

    def _free_chunks(self) -> Iterator[Chunk]:
        for chunks in self._free.values():
            yield from chunks
        for pool in self._large.values():
            yield from pool

    def close(self) -> None:
        """Return every segment to the device, in use or not."""
        with self._lock:
            self._free.clear()
            self._large.clear()
            self._small.clear()
            self._free_segments(*self._segments.values())

    def stats(self) -> dict[str, int]:
        """Return the statistics, named as in torch."""
        with self._lock:
            self._reclaim()
            waiting = sum(1 for _ in self._free_chunks())
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

    @property
    def fraction(self) -> float:
        """The share of the device's memory that the process may reserve."""
        return self._fraction

    def set_fraction(self, fraction: float) -> None:
        """Limit the memory that is reserved from now on to a share of the device's; that which is reserved stays."""
        total = mem_get_info(self.device)[1]
        with self._lock:
            self._fraction, self._limit = fraction, None if fraction >= 1 else int(total * fraction)

    def snapshot(self) -> list[dict[str, Any]]:
        """Return the segments and the parts of each, named as in torch; neighbours that are in use are one part."""
        with self._lock:
            self._reclaim()
            free: dict[Segment, list[Chunk]] = {}
            streams: dict[Segment, int] = {segment: stream for stream, segment in self._small.items()}
            for chunk in self._free_chunks():
                free.setdefault(chunk.segment, []).append(chunk)
                streams[chunk.segment] = chunk.stream
            found = []
            for segment in self._segments.values():
                blocks = list(_list_blocks(segment, free.get(segment, [])))
                used = sum(block["size"] for block in blocks if block["state"] == "active_allocated")
                found.append(
                    {
                        "device": self.device,
                        "address": segment.pointer,
                        "total_size": segment.pages,
                        "allocated_size": used,
                        "active_size": used,
                        "stream": streams.get(segment, 0),
                        "segment_type": "large" if segment.cursor == segment.size else "small",
                        "blocks": blocks,
                    }
                )
            return found

    def reset_peaks(self) -> None:
        """Reset the peaks to the current values."""
        with self._lock:
            self._reclaim()
            self._peak_allocated, self._peak_reserved = self._allocated, self._reserved


def _list_blocks(segment: Segment, free: list[Chunk]) -> Iterator[dict[str, Any]]:
    """List the parts of a segment in their order: free chunks, what is in use between them, and what is not carved yet."""
    at = segment.pointer
    end = at + segment.cursor
    for chunk in sorted(free, key=lambda chunk: chunk.pointer):
        if chunk.pointer > at:
            yield {"address": at, "size": chunk.pointer - at, "state": "active_allocated"}
        yield {"address": chunk.pointer, "size": chunk.size, "state": "inactive"}
        at = chunk.pointer + chunk.size
    if at < end:
        yield {"address": at, "size": end - at, "state": "active_allocated"}
    if end < segment.pointer + segment.pages:
        yield {"address": end, "size": segment.pointer + segment.pages - end, "state": "inactive"}


def _format_bytes(nbytes: int) -> str:
    """Format a number of bytes.

    >>> _format_bytes(1536 * 1024 * 1024), _format_bytes(100)
    ('1.50 GiB', '100 bytes')
    """
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if nbytes >= 1 << power:
            return f"{nbytes / (1 << power):.2f} {unit}"
    return f"{nbytes} bytes"


def current_allocator() -> Allocator:
    """Return the allocator of the thread's device."""
    stream = peek()
    if stream.allocator is None:
        allocators = ensure_session().allocators
        if stream.device not in allocators:
            allocators.setdefault(stream.device, Allocator(stream.device))
        stream.allocator = allocators[stream.device]
    found: Allocator = stream.allocator
    return found


def allocate(nbytes: int) -> MemoryBlock:
    """Return a block of memory on the thread's device for work on its current stream.

    Raises as ``Allocator.allocate`` does.
    """
    stream = peek()
    found: Allocator = stream.allocator or current_allocator()
    return found.allocate(nbytes, stream.pointer)


def record_stream(array: Any, stream: Stream) -> None:
    """Declare that a stream works with an array's memory; see ``MemoryBlock.record_stream``."""
    array.block.record_stream(stream)


def empty_cache() -> None:
    """Return the cached memory to every opened device."""
    for device in opened_devices():
        with guard(device):
            current_allocator().empty_cache()


def memory_stats(device: int | None = None) -> dict[str, int]:
    """Return the statistics of a device's memory, named as in torch; ``{}`` for a device that was not opened."""
    number = current_device() if device is None else device
    if number not in opened_devices():
        return {}
    with guard(number):
        return current_allocator().stats()


def reset_peak_memory_stats(device: int | None = None) -> None:
    """Reset the peaks in a device's statistics to the current values."""
    with guard(device):
        current_allocator().reset_peaks()


def mem_get_info(device: int | None = None) -> tuple[int, int]:
    """Return the free and the total bytes of a device's memory."""
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    with guard(device):
        call("aclrtGetMemInfo", ACL_HBM_MEM, ctypes.byref(free), ctypes.byref(total))
    return free.value, total.value


def set_memory_fraction(fraction: float) -> None:
    """Limit the memory that this process reserves on the thread's device to a share of it."""
    current_allocator().set_fraction(fraction)


def memory_fraction() -> float:
    """Return the share of the thread's device that this process may reserve."""
    return current_allocator().fraction


def memory_snapshot() -> list[dict[str, Any]]:
    """Return the segments of every opened device; see ``Allocator.snapshot``."""
    found: list[dict[str, Any]] = []
    for device in opened_devices():
        with guard(device):
            found += current_allocator().snapshot()
    return found


def _close(device: int) -> None:
    found = ensure_session().allocators.pop(device, None)
    if found is not None:
        found.close()


at_finalize(Stage.MEMORY, _close)
