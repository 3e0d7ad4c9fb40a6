"""Zip files of entries that are stored as they are: the place of each, and its two headers.

The directory at the file's end is read by ``zipfile``. Before an entry is read, the header before it must say the same: a
reader of another kind would otherwise see other bytes than those that were checked here.
"""

from __future__ import annotations

import struct
import zipfile
from typing import Final

from .sources import ZIP, Bytes, Source

#: Signature, version, flags, method, time, date, CRC-32, both sizes, and the lengths of the name and of the extra fields.
_HEADER: Final = struct.Struct("<4s5H3I2H")
_FLAG_ENCRYPTED, _FLAG_SIZES_FOLLOW, _FLAG_UTF8 = 1 << 0, 1 << 3, 1 << 11
#: Represents a size that a field of 64 bits has, the extra field of this number.
_ELSEWHERE, _ZIP64 = 0xFFFFFFFF, 1


class Archive:
    """The entries of a zip file; ``ValueError`` for compressed, encrypted or overlapping ones, and for names of paths."""

    def __init__(self, source: Source) -> None:
        self._source = source
        #: The entries' names and sizes in bytes.
        self.sizes: dict[str, int] = {}
        self._entries: dict[str, zipfile.ZipInfo] = {}
        with zipfile.ZipFile(source.file) as archive:
            entries = archive.infolist()
        for entry in entries:
            name = entry.filename
            if name in self._entries or name.startswith("/") or ".." in name.split("/") or "\\" in name:
                raise ValueError(f"the entry {name!r} is there twice, or is a path")
            if entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size:
                raise ValueError(f"the entry {name!r} is compressed")
            if entry.flag_bits & _FLAG_ENCRYPTED:
                raise ValueError(f"the entry {name!r} is encrypted")
            self._entries[name], self.sizes[name] = entry, entry.file_size
        end = source.start
        for entry in sorted(entries, key=lambda entry: entry.header_offset):
            if entry.header_offset < end:
                raise ValueError(f"the entry {entry.filename!r} overlaps another one")
            end = entry.header_offset + _HEADER.size + entry.file_size

    def take(self, name: str, *, alignment: int = 1) -> Bytes:
        """Return the bytes of an entry, to be kept and written to; see `Source.take`. ``KeyError`` where there is none."""
        entry = self._entries[name]
        # torch writes zero for no checksum: where the program has told it to, and for data that it leaves out.
        crc = entry.CRC or None
        return self._source.take(self.find(name), entry.file_size, alignment=alignment, crc=crc)

    def find(self, name: str) -> int:
        """Return where an entry's bytes begin.

        Raises ``KeyError`` where there is none, ``ValueError`` where its header and the directory differ.
        """
        entry = self._entries[name]
        place = entry.header_offset
        header = _HEADER.unpack(self._source.read(place, _HEADER.size))
        signature, _, flags, method, _, _, crc, packed, size, name_length, extra_length = header
        rest = self._source.read(place + _HEADER.size, name_length + extra_length)
        try:
            found = rest[:name_length].decode("utf-8" if flags & _FLAG_UTF8 else "cp437")
        except UnicodeDecodeError:
            found = ""
        said = [crc, *_read_sizes(rest[name_length:], packed, size)]
        facts = [entry.CRC, entry.file_size, entry.file_size]
        # Programs that write without looking back, as torch does, leave zeros, and put the numbers behind the entry.
        are_right = said == facts or (
            flags & _FLAG_SIZES_FOLLOW and all(one in (0, two) for one, two in zip(said, facts, strict=True))
        )
        if (signature, flags, method, found) != (ZIP, entry.flag_bits, 0, entry.orig_filename) or not are_right:
            raise ValueError(f"the entry {entry.filename!r} has a header that differs from the directory")
        return place + _HEADER.size + len(rest)

    def find_header(self, name: str) -> int:
        """Return where an entry's header begins; ``KeyError`` where there is none."""
        return self._entries[name].header_offset


def _read_sizes(extra: bytes, packed: int, size: int) -> tuple[int, int]:
    """Return both sizes of a header, those of 64 bits where its extra fields have them."""
    if _ELSEWHERE in (packed, size):
        while len(extra) >= 4:
            number, length = struct.unpack_from("<2H", extra)
            if number == _ZIP64 and length >= 16 and len(extra) >= 20:
                size, packed = struct.unpack_from("<2Q", extra, 4)
                break
            extra = extra[4 + length :]
    return packed, size
