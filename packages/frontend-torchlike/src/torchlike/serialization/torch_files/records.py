"""Files in torch's format, record by record (source: ``torch._C.PyTorchFileReader``, ``PyTorchFileWriter``).

>>> import io
>>> file = io.BytesIO()
>>> writer = PyTorchFileWriter(file)
>>> writer.write_record("a", b"abc", 3)
>>> writer.write_end_of_file()
>>> reader = PyTorchFileReader(io.BytesIO(file.getvalue()))
>>> reader.get_record("a"), reader.has_record("b")
(b'abc', False)
"""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any
from weakref import finalize

import numpy as np

from dispatch_aten.dtypes import ScalarType
from dispatch_core.escapes import to_printable

from ...tensors.arrays import put, read_elements
from ...tensors.storages import UntypedStorage
from ...tensors.tensor import Tensor
from ..archive import Archive
from ..sources import open_source, write_all
from .zip_writer import ZipWriter, count_padding


class PyTorchFileReader:
    """Reads the records of a file at a path, or of one that is open for reading bytes.

    Raises ``RuntimeError`` for a file that is not there or that is damaged, and for records that are not there.
    """

    def __init__(self, file: Any, /) -> None:
        with ExitStack() as opened:
            try:
                self._archive = Archive(opened.enter_context(open_source(file, False)))
            except (ValueError, OSError, zipfile.BadZipFile) as error:
                reason = to_printable(str(error))
                raise RuntimeError(f"PytorchStreamReader failed reading zip archive: {reason}") from None
            finalize(self, opened.pop_all().close)
        names = [*self._archive.sizes]
        self._folder = names[0].partition("/")[0] if names else "archive"

    def _name(self, name: str) -> str:
        whole = f"{self._folder}/{name}"
        if whole not in self._archive.sizes:
            raise RuntimeError(f"PytorchStreamReader failed locating file {to_printable(name)}: file not found")
        return whole

    def has_record(self, name: str) -> bool:
        """Return whether there is a record."""
        return f"{self._folder}/{name}" in self._archive.sizes

    def get_all_records(self) -> list[str]:
        """Return the names of the records."""
        return [name.removeprefix(f"{self._folder}/") for name in self._archive.sizes]

    def get_record(self, name: str) -> bytes:
        """Return the bytes of a record."""
        return self._archive.take(self._name(name)).tobytes()

    def get_record_size(self, name: str) -> int:
        """Return how many bytes a record has."""
        return self._archive.sizes[self._name(name)]

    def get_record_offset(self, name: str) -> int:
        """Return where the bytes of a record begin in the file."""
        return self._archive.find(self._name(name))

    def get_record_header_offset(self, name: str) -> int:
        """Return where the header of a record begins in the file."""
        return self._archive.find_header(self._name(name))

    def get_record_offset_no_read(self, cursor: int, name: str, size: int, alignment: int) -> int:
        """Return where the bytes of a record begin whose header begins at ``cursor``, by its size alone."""
        start, padding = count_padding(cursor, f"{self._folder}/{name}".encode(), size, alignment)
        return start + padding

    def get_storage_from_record(self, name: str, numel: int, dtype: Any) -> Tensor:
        """Return the bytes of a record as a tensor of a dtype; with a class of storages, as one of bytes.

        Raises ``RuntimeError`` where the record has fewer.
        """
        kind = dtype if isinstance(dtype, ScalarType) else ScalarType.Byte
        content = self._archive.take(self._name(name), alignment=16)
        if content.nbytes < numel * kind.itemsize:
            raise RuntimeError(f"the record {name!r} has {content.nbytes} bytes and not {numel * kind.itemsize}")
        return put(content).view(kind)[:numel]

    def serialization_id(self) -> str:
        """Return the id of the content, an empty text where the file has none."""
        name = ".data/serialization_id"
        return self.get_record(name).decode("latin1") if self.has_record(name) else ""


class PyTorchFileWriter:
    """Writes records into a file at a path, or into one that is open for writing bytes.

    Checksums are always written. `write_end_of_file` completes the file.
    """

    def __init__(self, file: Any, compute_crc32: bool = True, storage_alignment: int = 64) -> None:
        is_path = isinstance(file, (str, bytes, os.PathLike))
        stem = os.path.basename(os.fsdecode(file)).rpartition(".")[0] if is_path else ""  # noqa: PTH119
        self._folder = stem or "archive"
        self._file = open(file, "wb") if is_path else file  # noqa: PTH123, SIM115  # closed when the file is complete
        self._close = finalize(self, self._file.close) if is_path else None
        self._writer: ZipWriter | None = ZipWriter(self._folder, alignment=storage_alignment)
        self._written: list[str] = []
        self._version, self._id = 3, ""

    def _write(self, parts: Iterable[memoryview]) -> None:
        write_all(self._file, parts)

    def _open_writer(self) -> ZipWriter:
        if self._writer is None:
            raise RuntimeError("the file is complete: it takes no more records")
        return self._writer

    def archive_name(self) -> str:
        """Return the name of the folder that the records lie in."""
        return self._folder

    def write_record(self, name: str, data: Any, size: int) -> None:
        """Write the first bytes of a text, of bytes or of a storage as a record.

        Raises ``TypeError`` for other data, such as an address, ``RuntimeError`` where there are fewer bytes, or a record of
        the name.
        """
        if isinstance(data, UntypedStorage):
            flat = data.cpu().untyped()._flat()
            content = np.ascontiguousarray(read_elements(flat)).view(np.uint8).data
        elif isinstance(data, str):
            content = memoryview(data.encode())
        elif isinstance(data, (bytes, bytearray, memoryview)):
            content = memoryview(data).cast("B")
        else:
            raise TypeError(f"write_record(): data must be a text, bytes or a storage, not {type(data).__name__}")
        if len(content) < size:
            raise RuntimeError(f"write_record(): there are {len(content)} bytes, and {size} are to be written")
        self._write(self._open_writer().add(name, size, [content[:size]]))

    def write_record_metadata(self, name: str, size: int) -> None:
        """Write a record of zeros, to be filled later."""
        self._write(self._open_writer().add(name, size, [memoryview(bytes(size))]))

    def set_min_version(self, version: int) -> None:
        """Set the least version that the file says."""
        self._version = max(self._version, version)

    def get_all_written_records(self) -> set[str]:
        """Return the names of the records that were written."""
        return set(self._written if self._writer is None else self._writer.names)

    def serialization_id(self) -> str:
        """Return the id of the content, an empty text before the file is complete."""
        return self._id

    def write_end_of_file(self) -> None:
        """Complete the file."""
        writer = self._open_writer()
        if "byteorder" not in writer.names:
            self._write(writer.add_text("byteorder", sys.byteorder))
        self._write(writer.finish(version=self._version))
        self._written, self._id, self._writer = writer.names, writer.content_id, None
        if self._close is not None:
            self._close()
