"""Where the bytes of a file come from: read into the arrays that tensors keep, or mapped.

Note [Memory of load and save]
    Reads go into the final array, and writes come from the tensor's own memory, so neither needs space for
    a second copy. Only tensors that must be converted, are strided or lie on a device take that of one more, one at a time.
    That is why the formats' libraries are not used for the elements: they return copies, or parts of a copy of the file.
"""

from __future__ import annotations

import errno
import io
import mmap
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import IO, Any, Final

import numpy as np

from ..tensors.mapped_files import cut, is_mapped, map_open_file
from ..utils.serialization import config

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
#: The first bytes of a zip file, and of each entry's header in it.
ZIP: Final = b"PK\x03\x04"
#: The first bytes of a file in torch's older format: the pickle of a number.
LEGACY: Final = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
#: How many bytes are read, added to a checksum or written at a time.
_CHUNK: Final = 1 << 22


class Source:
    """A file from ``start`` to ``end``, by places counted from the file's own start; ``ValueError`` for places beyond."""

    def __init__(self, file: IO[bytes], name: str, mapped: Bytes | None = None) -> None:
        self.file, self.name, self.start = file, name, file.tell()
        self.end = max(file.seek(0, os.SEEK_END), self.start)
        self._mapped = mapped

    def starts_with(self, text: bytes) -> bool:
        """Return whether these are the file's first bytes."""
        return self.end - self.start >= len(text) and self.read(self.start, len(text)) == text

    def read(self, place: int, count: int) -> bytes:
        """Return some bytes."""
        return self._read_array(place, count, None).tobytes()

    def take(self, place: int, count: int, *, alignment: int = 1, crc: int | None = None) -> Bytes:
        """Return an array of bytes that nothing else holds, and that can be written to without changing the file.

        A mapped file is not read, and the checksum not compared, unless the place does not fit the alignment. Raises
        ``ValueError`` where the CRC-32 is another.
        """
        if self._mapped is None or place % alignment:
            return self._read_array(place, count, crc)
        self._check(place, count)
        # With bounds of its own, so that a tensor's storage is not the whole file.
        return cut(self._mapped, place, place + count)

    def _check(self, place: int, count: int) -> None:
        if not (self.start <= place and 0 <= count <= self.end - place):
            raise ValueError(f"it ends before byte {place + count}")

    def _read_array(self, place: int, count: int, crc: int | None) -> Bytes:
        self._check(place, count)
        array = np.empty(count, np.uint8)
        self.file.seek(place)
        found = 0
        for part in _split(array.data):
            while part:
                read: int = self.file.readinto(part) or 0  # type: ignore[attr-defined]  # typeshed's IO has none
                if not 0 < read <= len(part):
                    raise ValueError(f"it ends before byte {place + count}")
                found = zlib.crc32(part[:read], found) if crc is not None else 0
                part = part[read:]  # noqa: PLW2901
        if crc is not None and crc != found:
            raise ValueError("bytes have changed since they were written: their CRC-32 is another")
        return array


def _split(view: memoryview) -> Iterator[memoryview]:
    return (view[place : place + _CHUNK] for place in range(0, len(view), _CHUNK))


@contextmanager
def open_source(f: Any, maps: bool) -> Iterator[Source]:
    """Open a path, or a file from where it stands, which is left at its end.

    Raises ``ValueError`` for a file object that should be mapped, ``TypeError`` for one of text, ``OSError``.
    """
    if hasattr(f, "read"):
        if maps:
            raise ValueError("load(): mmap=True takes a path, not a file object")
        name = str(getattr(f, "name", "the file"))
        if not (hasattr(f, "readinto") and hasattr(f, "seekable") and f.seekable()):
            f = io.BytesIO(_read_whole(f))
        source = Source(f, name)
        try:
            yield source
        finally:
            f.seek(0, os.SEEK_END)
        return
    name = os.fsdecode(f)
    is_shared = (
        maps and config.load.mmap_flags is not None and config.load.mmap_flags == getattr(mmap, "MAP_SHARED", None)
    )
    with open(f, "r+b" if is_shared else "rb") as file:  # noqa: PTH123  # pathlib is not imported for this
        mapped, status = None, os.fstat(file.fileno())
        if maps and status.st_size:
            # Private pages keep writes in this process, unless the program asks for shared ones. Arrays keep the mapping.
            mapped = map_open_file(file, 0, mmap.ACCESS_WRITE if is_shared else mmap.ACCESS_COPY)
        if file.seekable():
            yield Source(file, name, mapped)
        else:  # a pipe
            yield Source(io.BytesIO(file.read()), name)


def refuse_mapped(status: os.stat_result) -> None:
    """Raise ``RuntimeError`` for a file that is to be written in place while tensors of this process lie in it."""
    if is_mapped(status):
        raise RuntimeError(
            "save(): the file cannot be replaced as a whole, and tensors that load(mmap=True) has given lie in it, which "
            "writing to it would change or lose\nHint: save to another path, or load it without mmap"
        )


def _read_whole(f: Any) -> bytes:
    content = f.read()
    if content is None:
        raise BlockingIOError(errno.EAGAIN, "load(): the file has nothing to read yet")
    if not isinstance(content, (bytes, bytearray, memoryview)):
        raise TypeError(f"load() reads files that are open for reading bytes: this one gives {type(content).__name__}")
    return bytes(content)


def as_bytes(array: np.ndarray[Any, Any]) -> Bytes:
    """Return the elements of an array one after another, little-endian; in its own memory where they lie so."""
    little = array.dtype.newbyteorder("<") if array.dtype.byteorder == ">" else array.dtype
    return np.ascontiguousarray(array, little).reshape(-1).view(np.uint8)


def write_all(file: Any, parts: Iterable[memoryview]) -> None:
    """Write parts to a file; one that takes less than it is given is asked again, and nothing an ``OSError``."""
    for part in parts:
        for piece in _split(part):
            while piece:
                written = file.write(piece)
                if isinstance(file, io.RawIOBase) and not written:
                    raise BlockingIOError(errno.EAGAIN, "save() needs a file that waits until it can be written to")
                is_part = isinstance(written, int) and 0 < written < len(piece)
                piece = piece[written:] if is_part else piece[:0]  # noqa: PLW2901
