"""Files that torch wrote before its zip format, and writes where a program asks for it: pickles, and storages behind them.

A storage's elements follow after the structure that it serves, so tensors are made in memory that is filled at the end.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from dispatch_aten.dtypes import ScalarType

from ..arrays import FileStorage
from ..locations import Locator
from ..opcodes import Rules, unpickle_stream
from ..rebuilding import Rebuilder, SavedStorage, read_identity
from ..settings import MAGIC_NUMBER, PROTOCOL_VERSION, is_data_skipped
from ..sources import Bytes, Source
from .trusted import Trust


class _LegacyRebuilder(Rebuilder):
    """Makes tensors in memory that `fill` fills."""

    def __init__(self, source: Source, locate: Locator) -> None:
        super().__init__(None, "", locate)
        self._source = source
        self._contents: dict[str, tuple[Bytes, ScalarType]] = {}
        self._left = source.end - source.start

    def load_storage(self, identity: Any) -> Any:
        """Return the storage of a persistent id, which has a sixth part: a view of it, which is refused."""
        if type(identity) is tuple and len(identity) == 4 and identity[0] == "module":
            return identity[1]  # a class, with the source that it had
        if type(identity) is not tuple or len(identity) != 6 or identity[5] is not None:
            raise ValueError("a persistent id is that of no storage")
        dtype, key, location, count = read_identity(identity[:5])
        if self._locate(location).type != "cpu":
            raise NotImplementedError(
                "load() reads files of torch's older format to the cpu\nHint: pass map_location='cpu', and move the result"
            )
        if key not in self._contents:
            nbytes = count * dtype.itemsize
            self._left -= nbytes
            if self._left < 0:
                raise ValueError("its storages are larger than the file")
            self._contents[key] = np.zeros(nbytes, np.uint8), dtype
        content, known = self._contents[key]
        if known is not dtype or content.nbytes != count * dtype.itemsize:
            raise ValueError(f"the storage {key!r} has another size")
        return self._give(SavedStorage(FileStorage(content.nbytes, lambda: content), dtype, location))

    def fill(self, keys: Any, place: int, is_swapped: bool) -> None:
        """Read the elements of all storages from a place in the file on."""
        if type(keys) is not list or sorted(map(str, keys)) != sorted(self._contents):
            raise ValueError("its storages are not those of its tensors")
        for key in keys:
            content, dtype = self._contents[key]
            count = int.from_bytes(self._source.read(place, 8), "little")
            if count * dtype.itemsize != content.nbytes:
                raise ValueError(f"the storage {key!r} has another size")
            if not is_data_skipped():
                content[:] = self._source.take(place + 8, content.nbytes, alignment=sys.maxsize)
            if is_swapped and dtype.itemsize > 1:
                content.view(f"u{dtype.to_real().itemsize}").byteswap(inplace=True)
            place += 8 + content.nbytes


def read_legacy(source: Source, locate: Locator, make_rules: Callable[[Rebuilder], Rules], trust: Trust | None) -> Any:
    """Return the structure of a file of the older format; ``ValueError`` for a damaged one."""
    rebuilder = _LegacyRebuilder(source, locate)
    rules = make_rules(rebuilder)
    file: Any = source.file
    file.seek(source.start)
    if unpickle_stream(file, rules) != MAGIC_NUMBER or unpickle_stream(file, rules) != PROTOCOL_VERSION:
        raise ValueError("its version is another")
    system = unpickle_stream(file, rules)
    is_little = system.get("little_endian") if isinstance(system, dict) else None
    value = trust.unpickle_stream(file, rebuilder) if trust else unpickle_stream(file, rules)
    keys = unpickle_stream(file, rules)
    rebuilder.fill(keys, file.tell(), (is_little is not False) != (sys.byteorder == "little"))
    rebuilder.finish()
    return value
