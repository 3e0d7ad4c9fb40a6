"""Copies between host and device, and pinned host memory, which the device reads and writes by itself.

Copies without a stream wait for the thread's current stream if it is busy (see Note [Idle streams] in ``stream``): ACL's own
synchronous copy does not wait for queued work. Host memory comes as NumPy arrays.
"""

from __future__ import annotations

import ctypes
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from dispatch_core import BackendError
from dispatch_core.forks import Order, forkable

from ..acl.constants import ACL_MEMCPY_DEVICE_TO_DEVICE, ACL_MEMCPY_DEVICE_TO_HOST, ACL_MEMCPY_HOST_TO_DEVICE
from ..acl.library import call, call_each
from .chunks import size_class
from .device import ensure_session, is_initialized
from .event import Event
from .session import Stage, at_finalize
from .stream import Stream, current, peek
from .waiting import has_answered

if TYPE_CHECKING:
    from numpy.typing import NDArray


def _wait_if_busy() -> None:
    stream = peek()
    if stream.is_busy:
        stream.synchronize()


def _address(array: NDArray[Any]) -> int:
    if not array.flags.c_contiguous:
        raise BackendError("only contiguous arrays can be copied from and to the device byte by byte")
    address: int = array.__array_interface__["data"][0]
    return address


def copy_to_device(array: NDArray[Any] | HostBlock, pointer: int, stream: Stream | None = None) -> None:
    """Copy a contiguous array's bytes to the device.

    With a stream, a ``HostBlock`` is copied when the stream reaches the copy; the caller may drop the block at once.
    """
    if isinstance(array, HostBlock):
        if stream is not None:
            _queue(pointer, array.pointer, array.nbytes, ACL_MEMCPY_HOST_TO_DEVICE, stream)
            array.record_stream(stream)
            return
        address = array.pointer
    else:
        address = _address(array)
    _wait_if_busy()
    call("aclrtMemcpy", pointer, array.nbytes, address, array.nbytes, ACL_MEMCPY_HOST_TO_DEVICE)


def queue_to_device(array: NDArray[Any], pointer: int) -> bool:
    """Queue the copy of a contiguous array's bytes on the thread's current stream; False for one that is not pinned."""
    block = _find_block(array)
    if block is None:
        return False
    stream = current()
    _queue(pointer, _address(array), array.nbytes, ACL_MEMCPY_HOST_TO_DEVICE, stream)
    block.record_stream(stream)
    return True


def queue_to_host(pointer: int, array: NDArray[Any]) -> None:
    """Queue the copy of bytes of the device to a contiguous array in pinned memory, on the thread's current stream."""
    block = _find_block(array)
    if block is None:
        raise BackendError("only arrays in pinned memory can be copied to without a wait")
    stream = current()
    _queue(_address(array), pointer, array.nbytes, ACL_MEMCPY_DEVICE_TO_HOST, stream)
    block.record_stream(stream)


def _find_block(array: Any) -> HostBlock | None:
    """Return the pinned memory that an array lies in."""
    while array is not None:
        found = getattr(array, "_block", None)
        if isinstance(found, HostBlock):
            return found
        array = array.obj if isinstance(array, memoryview) else getattr(array, "base", None)
    return None


def copy_to_host(
    pointer: int, nbytes: int, into: HostBlock | None = None, stream: Stream | None = None
) -> NDArray[Any]:
    """Copy bytes from the device and return them as an array of ``uint8``.

    With a stream, they are in ``into`` once the stream has reached the copy.
    """
    import numpy as np  # the backend loads without it

    if into is not None and stream is not None:
        _queue(into.pointer, pointer, nbytes, ACL_MEMCPY_DEVICE_TO_HOST, stream)
        into.record_stream(stream)
        return into.array()[:nbytes]
    array = np.empty(nbytes, np.uint8) if into is None else into.array()[:nbytes]
    _wait_if_busy()
    if nbytes:
        call("aclrtMemcpy", _address(array), nbytes, pointer, nbytes, ACL_MEMCPY_DEVICE_TO_HOST)
    return array


def copy_on_device(destination: int, source: int, nbytes: int, stream: Stream | None = None) -> None:
    """Copy bytes from one address of the device to another, when the stream reaches the copy."""
    _queue(destination, source, nbytes, ACL_MEMCPY_DEVICE_TO_DEVICE, current() if stream is None else stream)


def fill(pointer: int, nbytes: int, value: int = 0, stream: Stream | None = None) -> None:
    """Set every byte to a value, when the stream reaches it."""
    stream = current() if stream is None else stream
    stream.check()
    if nbytes:
        call("aclrtMemsetAsync", pointer, nbytes, value, nbytes, stream.pointer)
        stream.is_busy = True


def _queue(destination: int, source: int, nbytes: int, kind: int, stream: Stream) -> None:
    stream.check()
    call("aclrtMemcpyAsync", destination, nbytes, source, nbytes, kind, stream.pointer)
    stream.is_busy = True


#: The counts of pinned memory: blocks in all, their bytes, blocks that are held, their bytes.
_COUNTS: Final = ("allocations", "allocated_bytes", "active_requests", "active_bytes")


class _PinnedMemory:
    """All pinned memory, and the free part of it by size."""

    def __init__(self) -> None:
        self.lock: Final = forkable(Order.MEMORY)
        #: Pointer → size.
        self.pointers: Final[dict[int, int]] = {}
        self.free: Final[dict[int, list[int]]] = {}
        #: Pointer, size and last uses of collected blocks; finalizers append to it.
        self.returned: Final[deque[tuple[int, int, tuple[Event, ...]]]] = deque()
        #: Count → present, highest, taken in all, given back in all.
        self.counts: Final = {name: {"current": 0, "peak": 0, "allocated": 0, "freed": 0} for name in _COUNTS}

    def take(self, size: int) -> int:
        with self.lock:
            self._reclaim()
            free = self.free.get(size)
            if free:
                pointer = free.pop()
            else:
                found = ctypes.c_void_p()
                call("aclrtMallocHost", ctypes.byref(found), size)
                pointer = found.value or 0
                self.pointers[pointer] = size
                self._count("allocations", 1)
                self._count("allocated_bytes", size)
            self._count("active_requests", 1)
            self._count("active_bytes", size)
            return pointer

    def empty_cache(self) -> None:
        """Give blocks that nothing holds back to the runtime."""
        with self.lock:
            self._reclaim()
            unused = [pointer for pointers in self.free.values() for pointer in pointers]
            self.free.clear()
            for pointer in unused:
                self._count("allocated_bytes", -self.pointers.pop(pointer))
                self._count("allocations", -1)
            call_each("aclrtFreeHost", unused)

    def stats(self) -> dict[str, int]:
        with self.lock:
            self._reclaim()
            return {f"{name}.{each}": count for name, counts in self.counts.items() for each, count in counts.items()}

    def reset(self, parts: tuple[str, ...]) -> None:
        with self.lock:
            self._reclaim()
            for counts in self.counts.values():
                counts.update((each, counts["current"] if each == "peak" else 0) for each in parts)

    def _reclaim(self) -> None:
        """Keep collected blocks for others, once the streams have passed their last uses."""
        for _ in range(len(self.returned)):
            pointer, length, events = self.returned.popleft()
            if not all(has_answered(event.device) for event in events):
                continue  # Never used again: a device that did not answer may still write there.
            if all(event.query() for event in events):
                self.free.setdefault(length, []).append(pointer)
                self._count("active_requests", -1)
                self._count("active_bytes", -length)
            else:
                self.returned.append((pointer, length, events))

    def _count(self, name: str, change: int) -> None:
        counts = self.counts[name]
        counts["current"] += change
        counts["peak"] = max(counts["peak"], counts["current"])
        counts["allocated" if change > 0 else "freed"] += abs(change)


class HostBlock:
    """Pinned host memory that lives as long as this object or an array of it."""

    __slots__ = ("__weakref__", "_home", "_size", "_uses", "nbytes", "pointer")

    def __init__(self, nbytes: int) -> None:
        now = ensure_session()
        if now.host is None:
            now.host = _PinnedMemory()
        self._home: _PinnedMemory = now.host
        self._size = size_class(nbytes)
        self.nbytes = nbytes
        self._uses: tuple[Event, ...] = ()
        self.pointer = self._home.take(self._size)

    def __del__(self) -> None:
        if hasattr(self, "pointer"):
            self._home.returned.append((self.pointer, self._size, self._uses))

    def record_stream(self, stream: Stream) -> None:
        """Declare that the work that is queued on a stream now uses this memory."""
        self._uses = (*(event for event in self._uses if not event.query()), stream.record_event())

    def array(self) -> NDArray[Any]:
        """Return the memory as an array of ``uint8``, which keeps it alive."""
        import numpy as np  # the backend loads without it

        buffer: Any = (ctypes.c_uint8 * self.nbytes).from_address(self.pointer)
        buffer._block = self
        found: NDArray[Any] = np.frombuffer(buffer, np.uint8)
        return found


def allocate_pinned(nbytes: int) -> HostBlock:
    """Return host memory with which a stream's copies can work while the host goes on."""
    return HostBlock(nbytes)


def _opened_memory() -> _PinnedMemory | None:
    found: _PinnedMemory | None = ensure_session().host if is_initialized() else None
    return found


def pinned_memory_stats() -> dict[str, int]:
    """Return the counts of pinned memory under torch's names; none where there has been no such memory."""
    host = _opened_memory()
    return {} if host is None else host.stats()


def reset_pinned_memory_stats(*parts: str) -> None:
    """Set peaks (``"peak"``) to the present counts, or sums (``"allocated"``, ``"freed"``) to 0."""
    host = _opened_memory()
    if host is not None:
        host.reset(parts)


def empty_pinned_cache() -> None:
    """Give pinned memory that nothing holds back to the runtime."""
    host = _opened_memory()
    if host is not None:
        host.empty_cache()


def _close(device: int) -> None:
    now = ensure_session()
    host: Any = now.host
    # A device that did not answer may still work with host memory.
    if host is not None and has_answered():
        now.host = None
        call_each("aclrtFreeHost", host.pointers)


at_finalize(Stage.MEMORY, _close)
