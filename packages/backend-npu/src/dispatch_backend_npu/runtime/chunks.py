"""Segments, which the device gives, and the chunks of them that blocks hold."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .allocator import Allocator
    from .splitting import SplitPool
    from .stream import Stream

PAGE: Final = 2 << 20
"""The size of the device's large pages."""

PIECE: Final = 32
"""Kernels work on pieces of this size, and the runtime adds one to each request."""

SMALL: Final = 256 << 10
"""The largest class of small chunks."""

_LEAST: Final = 512


def pad(nbytes: int) -> int:
    """Return the bytes of a block with those after it: kernels work on pieces of 32 bytes, and on one past the end.

    The runtime's manual asks for them where blocks are carved out of its memory (``aclrtMalloc``, notes).

    >>> pad(1), pad(32), pad(33)
    (64, 64, 96)
    """
    return -(-nbytes // PIECE) * PIECE + PIECE


@lru_cache(maxsize=4096)
def size_class(nbytes: int) -> int:
    """Return the size class of a request with its padding: a multiple of 512 bytes, eight steps to each power of two.

    To a segment of its own the runtime adds the padding.

    >>> size_class(1), size_class(480), size_class(481), size_class(1 << 20)
    (512, 512, 1024, 1048576)
    """
    size = _round_up(nbytes)
    return size if size > SMALL else _round_up(pad(nbytes))


def _round_up(nbytes: int) -> int:
    step = max(_LEAST, 1 << (max(nbytes - 1, _LEAST).bit_length() - 4))
    return max(-(-nbytes // step) * step, _LEAST)


class Segment:
    """Memory that the device gave in one call; ``cursor`` bytes of it are carved into ``chunks`` chunks."""

    __slots__ = ("chunks", "cursor", "pages", "pointer", "size")

    def __init__(self, pointer: int, size: int) -> None:
        self.pointer, self.size = pointer, size
        #: What it takes from the device.
        self.pages = taken_by(size)
        self.chunks = self.cursor = 0


class Chunk:
    """A part of a segment, which one block after another holds."""

    __slots__ = (
        "after",
        "before",
        "home",
        "is_free",
        "other_streams",
        "peers",
        "pointer",
        "segment",
        "size",
        "stream",
    )

    def __init__(
        self,
        home: Allocator,
        segment: Segment,
        size: int,
        stream: int,
        peers: list[Chunk] | SplitPool | None,
        pointer: int,
    ) -> None:
        self.home, self.segment, self.size, self.stream, self.pointer = home, segment, size, stream, pointer
        segment.chunks += 1
        #: The free chunks of its class, or of its stream where it is large; None without caching.
        self.peers = peers
        #: Further streams that work with it, see Note [Blocks and streams] in ``allocator``.
        self.other_streams: set[Stream] | None = None
        #: Its neighbours, where chunks are split and merged, and whether it waits for a block.
        self.before: Chunk | None = None
        self.after: Chunk | None = None
        self.is_free = False


def taken_by(size: int) -> int:
    """Return the bytes that a request takes from the device: whole pages, of 2 MiB above 1 MiB, of 4 KiB below.

    >>> taken_by(1 << 21) >> 20, taken_by((1 << 21) - 32) >> 20, taken_by(512)
    (4, 2, 4096)
    """
    padded = pad(size)
    page = PAGE if padded > 1 << 20 else 4096
    return -(-padded // page) * page
