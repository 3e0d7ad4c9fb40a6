"""The machine code of functions that Numba compiles, kept in a folder in checked files.

Note [Files named after their signatures]
    Numba numbers a function's files, one for each signature, and keeps the numbers in an index. Two processes that compile
    a function for different dtypes at the same time may choose one number for both; later processes would then load the
    loop for float64 instead of that for float32, and each call would fail, for as long as the file is there
    (https://github.com/numba/numba/issues/4807 tells of worse). Here a file has the name of its signature and machine, so
    the most that a lost index entry costs is a compilation.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import FunctionType, ModuleType
from typing import Any, Final, Protocol

from ..surroundings.logs import Log
from .checked import read_checked, write_checked

_LOG: Final = Log("caches")


class NumbaFunction(Protocol):
    """A function that Numba compiles, as far as its cache needs it."""

    py_func: FunctionType
    _cache: object


def keep_on_disk(function: NumbaFunction, folder: str | os.PathLike[str], stamp: object) -> None:
    """Keep the machine code of a function that Numba compiles in a folder; ``stamp`` tells versions of its source apart."""
    caching = sys.modules[type(function._cache).__module__]  # Numba's, which only its own functions need
    function._cache = _checked_cache(caching)(function.py_func, os.fspath(folder), stamp)


@cache
def _checked_cache(caching: ModuleType) -> Callable[..., object]:
    """Return the class of a function's cache, made of those in Numba's module."""
    made: dict[str, Any] = {
        name: type(name, (ours, getattr(caching, theirs)), {})
        for name, ours, theirs in (
            ("Files", _CheckedFiles, "IndexDataCacheFile"),
            ("Form", _PlacedForm, "CompileResultCacheImpl"),
        )
    }
    return type("CheckedCache", (_CheckedCache, caching.FunctionCache), made)


class _Place:
    """Answers Numba's questions about a function's place on the disk."""

    def __init__(self, function: FunctionType, folder: str, stamp: object) -> None:
        self._py_file, self._line = function.__code__.co_filename, function.__code__.co_firstlineno
        self._folder, self._stamp = folder, stamp

    def get_cache_path(self) -> str:
        return self._folder

    def get_source_stamp(self) -> object:
        return self._stamp

    def get_disambiguator(self) -> str:
        return str(self._line)

    def ensure_cache_path(self) -> None:
        os.makedirs(self._folder, exist_ok=True)  # noqa: PTH103


class _PlacedForm:
    """The form in which a function is kept; Numba's own looks for a folder by itself."""

    get_filename_base: Callable[[str, str], str]

    def __init__(self, function: FunctionType, place: _Place) -> None:
        self._lineno, self._locator = function.__code__.co_firstlineno, place
        stem = os.path.splitext(os.path.basename(function.__code__.co_filename))[0]  # noqa: PTH119, PTH122
        self._filename_base = self.get_filename_base(f"{stem}.{function.__qualname__}", getattr(sys, "abiflags", ""))


class _CheckedFiles:
    """The index and the data files of one function; see Note [Files named after their signatures]."""

    _index_name: str
    _index_path: str
    _source_stamp: object
    _version: str
    _data_path: Callable[[str], str]
    _save_data: Callable[[str, object], None]
    _save_index: Callable[[dict[object, str]], None]

    def save(self, key: object, data: object) -> None:
        name = f"{self._index_name.removesuffix('.nbi')}.{hashlib.sha256(repr(key).encode()).hexdigest()[:24]}.nbc"
        # The index comes last, so that the data that it names is there.
        self._save_data(name, data)
        self._save_index(self._load_index() | {key: name})

    def _load_index(self) -> dict[object, str]:
        content = read_checked(self._index_path)
        if content is None:
            return {}
        file = io.BytesIO(content)
        if pickle.load(file) != self._version:  # noqa: S301  # it is as this program wrote it
            return {}
        stamp, names = pickle.load(file)  # noqa: S301
        return names if stamp == self._source_stamp else {}

    def _load_data(self, name: str) -> object:
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
    """A cache that fails no call: an entry that cannot be read or written is compiled again, here or by the next process."""

    Files: Callable[..., object]
    Form: Callable[..., Any]
    enable: Callable[[], None]

    def __init__(self, function: FunctionType, folder: str, stamp: object) -> None:
        self._name, self._py_func, self._cache_path = repr(function), function, folder
        self._impl = self.Form(function, _Place(function, folder, stamp))
        self._cache_file = self.Files(cache_path=folder, filename_base=self._impl.filename_base, source_stamp=stamp)
        self.enable()

    def load_overload(self, *arguments: object) -> object:
        try:
            return super().load_overload(*arguments)  # type: ignore[misc]
        except Exception as error:  # noqa: BLE001  # whatever another version's files lead to
            _LOG.warning("machine code in %s is compiled again: %s", self._cache_path, error)
            return None

    def save_overload(self, *arguments: object) -> None:
        try:
            super().save_overload(*arguments)  # type: ignore[misc]
        except Exception as error:  # noqa: BLE001  # a full disk, for one
            _LOG.warning("machine code is not kept in %s: %s", self._cache_path, error)
