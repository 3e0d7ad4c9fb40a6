"""Zip files of stored entries, laid out as torch lays them out, written from front to back.

Note [Places of entries]
    Each entry begins at a multiple of 64 bytes, by an extra field of padding in the header before it, so that a file can be
    mapped. Headers have zeros for the checksum and the sizes, which follow behind the bytes, as in torch's files: torch
    computes the places of entries from their sizes alone where it is told to, and finds ours there, too. A checksum is
    that of the very bytes that were written, also where another thread changes a tensor meanwhile.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from ..sources import ZIP

ALIGNMENT: Final = 64
#: Signature, version needed, flags, method, time, date, CRC-32, sizes, and the lengths of the name and of the extra fields.
_HEADER: Final = struct.Struct("<4s5H3I2H")
#: Signature, versions, flags, method, time, date, CRC-32, sizes, lengths, disk, attributes, and the place of the header.
_DIRECTORY: Final = struct.Struct("<4s6H3I5H2I")
_FLAG_SIZES_FOLLOW, _FLAG_UTF8 = 1 << 3, 1 << 11
#: Represents a number that a field of 64 bits has.
_LARGE: Final = 0xFFFFFFFF
_ZIP64: Final = 1
#: How many bytes are copied, added to the checksum and written at a time.
_CHUNK: Final = 1 << 20


class _Entry(NamedTuple):
    """An entry that was written: its flags, checksum, size, and where its header is."""

    flags: int
    crc: int
    nbytes: int
    place: int


def _pack_large(*numbers: int) -> bytes:
    """Return the extra field of numbers that take 64 bits; nothing where there are none."""
    large = [number for number in numbers if number >= _LARGE]
    return struct.pack(f"<2H{len(large)}Q", _ZIP64, 8 * len(large), *large) if large else b""


def count_padding(place: int, name: bytes, nbytes: int, alignment: int) -> tuple[int, int]:
    """Return where an entry's bytes would begin whose header is at ``place``, and how many bytes of padding move them."""
    start = place + _HEADER.size + len(name) + len(_pack_large(nbytes, nbytes, place)) + 4
    return start, -start % alignment


class ZipWriter:
    """Makes the parts of a zip file whose entries lie in one folder; see Note [Places of entries]."""

    def __init__(self, folder: str, *, alignment: int = ALIGNMENT) -> None:
        self._folder, self._alignment = folder, alignment
        self._entries: dict[bytes, _Entry] = {}
        self._place = 0
        #: The id of the content, once it is finished.
        self.content_id = ""

    @property
    def names(self) -> list[str]:
        """The names of the entries that were written, without the folder's."""
        return [name.decode().removeprefix(f"{self._folder}/") for name in self._entries]

    def add(self, name: str, nbytes: int, content: Iterable[memoryview]) -> Iterator[memoryview]:
        """Yield the parts of an entry with the bytes of ``content``.

        Raises ``ValueError`` where these are others than ``nbytes``, ``RuntimeError`` for a name that is there already.
        """
        encoded = f"{self._folder}/{name}".encode()
        if encoded in self._entries:
            raise RuntimeError(f"the file has a record {name!r} already")
        place, flags = self._place, _FLAG_UTF8 | (_FLAG_SIZES_FOLLOW if nbytes else 0)
        large = _pack_large(nbytes, nbytes, place)
        start, padding = count_padding(place, encoded, nbytes, self._alignment)
        extra = large + b"FB" + struct.pack("<H", padding) + b"Z" * padding
        header = _HEADER.pack(ZIP, 0, flags, 0, 0, 0, 0, 0, 0, len(encoded), len(extra))
        yield memoryview(header + encoded + extra)
        crc = written = 0
        for part in content:
            for at in range(0, len(part), _CHUNK):
                piece = bytes(part[at : at + _CHUNK])
                crc = zlib.crc32(piece, crc)
                written += len(piece)
                yield memoryview(piece)
        if written != nbytes:
            raise ValueError(f"the entry {name!r} has {written} bytes and not {nbytes}")
        self._place = start + padding + nbytes
        if nbytes:
            form = "<4sI2Q" if large else "<4s3I"
            behind = struct.pack(form, b"PK\x07\x08", crc, nbytes, nbytes)
            self._place += len(behind)
            yield memoryview(behind)
        self._entries[encoded] = _Entry(flags, crc, nbytes, place)

    def add_text(self, name: str, text: str) -> Iterator[memoryview]:
        """Yield the parts of an entry of text."""
        encoded = text.encode()
        return self.add(name, len(encoded), [memoryview(encoded)])

    def finish(self, *, version: int = 3) -> Iterator[memoryview]:
        """Yield the parts that follow the last entry: the version, an id of the content, and the directory."""
        yield from self.add_text("version", f"{version}\n")
        names = zlib.crc32(b"\n".join(self._entries))
        sums = zlib.crc32(b"".join(entry.crc.to_bytes(4, "little") for entry in self._entries.values()))
        self.content_id = f"{names:020d}{sums:020d}"
        yield from self.add_text(".data/serialization_id", self.content_id)
        start = self._place
        for name, entry in self._entries.items():
            extra = _pack_large(entry.nbytes, entry.nbytes, entry.place)
            size, place = min(entry.nbytes, _LARGE), min(entry.place, _LARGE)
            lengths = len(name), len(extra), 0
            fixed = _DIRECTORY.pack(
                b"PK\x01\x02", 0, 0, entry.flags, 0, 0, 0, entry.crc, size, size, *lengths, 0, 0, 0, place
            )
            self._place += len(fixed) + len(name) + len(extra)
            yield memoryview(fixed + name + extra)
        yield memoryview(self._make_end(start))

    def _make_end(self, start: int) -> bytes:
        """Return the end of a file whose directory begins at ``start``."""
        count, nbytes, end = len(self._entries), self._place - start, b""
        if count >= 0xFFFF or nbytes >= _LARGE or start >= _LARGE:
            end = struct.pack("<4sQ2H2I4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, nbytes, start)
            end += struct.pack("<4sIQI", b"PK\x06\x07", 0, self._place, 1)
        few = min(count, 0xFFFF)
        return end + struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, few, few, min(nbytes, _LARGE), min(start, _LARGE), 0)
