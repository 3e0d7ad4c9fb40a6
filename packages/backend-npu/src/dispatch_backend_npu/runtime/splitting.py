"""Large memory: segments of 20 MiB, and longer ones, that are split into chunks of any size and merged again.

Tensors of varying lengths so use the memory of one another, where a cache by size would keep a chunk for each length. The
sizes are those of torch's allocators.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from typing import Final

from .chunks import PAGE, PIECE, Chunk, Segment, pad

_STEP: Final = 512
#: Segments of smaller chunks have this size; longer chunks have segments of their own.
_SHARED: Final = 20 << 20
_LONG: Final = 10 << 20
#: The rest of a chunk stays with it up to this size.
_REST: Final = 1 << 20


def chunk_size(nbytes: int) -> int:
    """Return the bytes of a large chunk for a request, with its padding.

    >>> chunk_size(1 << 20) - (1 << 20)
    512
    """
    return -(-pad(nbytes) // _STEP) * _STEP


def segment_size(size: int) -> int:
    """Return the bytes of a segment for a chunk: whole pages, less what the runtime adds, which would cost one more.

    >>> segment_size(1 << 20) + 32 == 20 << 20, segment_size(10 << 20) + 32 == 12 << 20
    (True, True)
    """
    return _SHARED - PIECE if size < _LONG else own_segment(size)


def own_segment(size: int) -> int:
    """Return the bytes of a segment for one chunk alone."""
    return -(-(size + PIECE) // PAGE) * PAGE - PIECE


class SplitPool:
    """The free chunks of large segments for one stream.

    Those that came back last wait for a request of the very size, as steady work makes; before a chunk is looked for among
    the others, they are merged with their free neighbours.
    """

    __slots__ = ("_free", "_last")

    def __init__(self) -> None:
        #: Size → chunks that came back last.
        self._last: dict[int, list[Chunk]] = {}
        #: Size, address and chunk of the others, by size.
        self._free: list[tuple[int, int, Chunk]] = []

    def __iter__(self) -> Iterator[Chunk]:
        self._merge_last()
        for _, _, chunk in self._free:
            yield chunk

    def take(self, size: int) -> Chunk | None:
        """Return the smallest free chunk of at least ``size`` bytes, as ``cut`` does; None where there is none."""
        last = self._last.get(size)
        if last:
            return last.pop()
        self._merge_last()
        at = bisect_left(self._free, (size,))
        return self.cut(self._free.pop(at)[2], size) if at < len(self._free) else None

    def cut(self, chunk: Chunk, size: int) -> Chunk:
        """Return a chunk that is not free any more, without its rest where that is long."""
        chunk.is_free = False
        rest = chunk.size - size
        if rest > _REST:
            chunk.size = size
            other = Chunk(chunk.home, chunk.segment, rest, chunk.stream, self, chunk.pointer + size)
            other.before, other.after = chunk, chunk.after
            if chunk.after is not None:
                chunk.after.before = other
            chunk.after = other
            self._insert(other)
        return chunk

    def append(self, chunk: Chunk) -> None:
        """Take back a chunk."""
        self._last.setdefault(chunk.size, []).append(chunk)

    def _merge_last(self) -> None:
        while self._last:
            for chunk in self._last.popitem()[1]:
                self._merge_with_neighbours(chunk)

    def _merge_with_neighbours(self, chunk: Chunk) -> None:
        before, after = chunk.before, chunk.after
        if after is not None and after.is_free:
            self._remove(after)
            self._merge(chunk, after)
        if before is not None and before.is_free:
            self._remove(before)
            self._merge(before, chunk)
            chunk = before
        self._insert(chunk)

    def drop(self, segments: set[Segment]) -> None:
        """Forget the chunks of segments, all of which are free."""
        self._free = [entry for entry in self._free if entry[2].segment not in segments]

    def _insert(self, chunk: Chunk) -> None:
        chunk.is_free = True
        insort(self._free, (chunk.size, chunk.pointer, chunk))

    def _remove(self, chunk: Chunk) -> None:
        del self._free[bisect_left(self._free, (chunk.size, chunk.pointer))]

    @staticmethod
    def _merge(chunk: Chunk, after: Chunk) -> None:
        chunk.size += after.size
        chunk.after = after.after
        if after.after is not None:
            after.after.before = chunk
        chunk.segment.chunks -= 1
        # Neighbours refer to each other: a chunk that is gone refers to none.
        after.before = after.after = None
