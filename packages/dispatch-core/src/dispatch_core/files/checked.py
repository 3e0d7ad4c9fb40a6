"""Cached files, which are hints: one that is not as it was written is not read, but deleted and made again.

Note [Files named after their signatures]
    Numba numbers a function's files, one for each signature, and keeps the numbers in an index. Two processes that compile
    a function for different dtypes at the same time may choose one number for both; later processes would then load the
    loop for float64 in the place of that for float32, and each call would fail, for as long as the file is there
    (https://github.com/numba/numba/issues/4807 tells of worse). Here a file has the name of its signature and machine, so
    the most that a lost index entry costs is a compilation.

Note [Machine code is checked before it is loaded]
    A flipped bit in machine code ends the process, and one in a pickle may do anything. So the SHA-256 of each file, with
    its name, lies beside it, and Numba is given the bytes that were compared with it, not the file.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from ..logs import Log
from .replacement import replace_file

__all__ = ["checked_cache", "read_checked", "write_checked"]

_LOG: Final = Log("caches")
_SUFFIX: Final = ".sha256"


def write_checked(path: str, content: bytes) -> None:
    """Write a file for `read_checked`; raises ``OSError``."""
    for name, data in ((path, content), (path + _SUFFIX, _digest(path, content))):
        with replace_file(name, is_synced=False) as file:
            file.write(data)


def read_checked(path: str) -> bytes | None:
    """Return the content of a file that is as `write_checked` left it; None for any other one, which is deleted."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            content = file.read()
        with open(path + _SUFFIX, "rb") as file:  # noqa: PTH123
            is_whole = file.read() == _digest(path, content)
        reason = "it is not as it was written"
    except OSError as error:
        is_whole, reason = False, str(error)
    if is_whole:
        return content
    if os.path.lexists(path):
        _LOG.warning("the cached file %s is made again: %s", path, reason)
    for name in (path, path + _SUFFIX):
        with suppress(OSError):
            os.unlink(name)  # noqa: PTH108
    return None


def _digest(path: str, content: bytes) -> bytes:
    """Return the digest of a file of this name: a copy under another one does not fit."""
    name = os.fsencode(os.path.basename(path))  # noqa: PTH119
    return hashlib.sha256(name + b"\0" + content).hexdigest().encode()


def checked_cache(caching: Any, **members: Any) -> Any:
    """Return the class of a function's cache on disk that checks its files; ``caching`` is Numba's module of caches."""
    files = type("CheckedFiles", (_CheckedFiles, caching.IndexDataCacheFile), {})
    return type("CheckedCache", (_CheckedCache, caching.FunctionCache), {"_files": files, **members})


class _CheckedFiles:
    """The index and the data files of one function; see Note [Files named after their signatures]."""

    _index_name: str
    _index_path: str
    _source_stamp: Any
    _version: str
    _data_path: Any
    _save_data: Any
    _save_index: Any

    def save(self, key: Any, data: Any) -> None:
        name = f"{self._index_name.removesuffix('.nbi')}.{hashlib.sha256(repr(key).encode()).hexdigest()[:24]}.nbc"
        # The index comes last, so that what it names is there.
        self._save_data(name, data)
        self._save_index(self._load_index() | {key: name})

    def _load_index(self) -> dict[Any, str]:
        content = read_checked(self._index_path)
        if content is None:
            return {}
        file = io.BytesIO(content)
        if pickle.load(file) != self._version:  # noqa: S301  # it is as this program wrote it
            return {}
        stamp, names = pickle.load(file)  # noqa: S301
        return names if stamp == self._source_stamp else {}

    def _load_data(self, name: str) -> Any:
        content = read_checked(self._data_path(name))
        if content is None:
            raise FileNotFoundError(name)  # it is a miss
        return pickle.loads(content)  # noqa: S301  # as above

    @contextmanager
    def _open_for_write(self, path: str) -> Iterator[io.BytesIO]:
        file = io.BytesIO()
        yield file
        write_checked(path, file.getvalue())


class _CheckedCache:
    """A cache that fails no call: what cannot be read or written is compiled again, here or by the next process."""

    _files: Any
    _cache_path: str
    _impl: Any

    def __init__(self, function: Any) -> None:
        super().__init__(function)  # type: ignore[call-arg]  # Numba's class follows
        self._cache_file = self._files(
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=self._impl.locator.get_source_stamp(),
        )

    def load_overload(self, *arguments: Any) -> Any:
        try:
            return super().load_overload(*arguments)  # type: ignore[misc]
        except Exception as error:  # noqa: BLE001  # whatever another version's files lead to
            _LOG.warning("machine code in %s is compiled again: %s", self._cache_path, error)
            return None

    def save_overload(self, *arguments: Any) -> None:
        try:
            super().save_overload(*arguments)  # type: ignore[misc]
        except Exception as error:  # noqa: BLE001  # a full disk, for one
            _LOG.warning("machine code is not kept in %s: %s", self._cache_path, error)
