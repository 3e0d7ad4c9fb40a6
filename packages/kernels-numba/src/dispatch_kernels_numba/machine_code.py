"""Machine code on disk, which several processes write at once.

Note [Files named after their signatures]
    Numba numbers a function's files, one for each signature, and keeps the numbers in an index. Two processes that compile
    a function for different dtypes at the same time may choose one number for both; later processes would then load the
    loop for float64 in the place of that for float32, and each call would fail, for as long as the file is there
    (https://github.com/numba/numba/issues/4807 tells of worse). Here a file has the name of its signature and machine, so
    the most that a lost index entry costs is a compilation.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path
from typing import Any

from numba.core import config
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator

from dispatch_core.cache_folders import cache_folder


class _NamedFiles(IndexDataCacheFile):
    def save(self, key: Any, data: Any) -> None:
        name = f"{self._index_name.removesuffix('.nbi')}.{hashlib.sha256(repr(key).encode()).hexdigest()[:24]}.nbc"
        # The index comes last, so that what it names is there.
        self._save_data(name, data)
        self._save_index(self._load_index() | {key: name})


class _FolderLocator(_CacheLocator):
    """Finds the folder of ``NUMBA_CACHE_DIR``, else the part ``numba`` of the user's caches; in it one for these sources."""

    def __init__(self, py_func: Any, py_file: str) -> None:
        self._file, self._line = py_file, py_func.__code__.co_firstlineno
        named: str = vars(config)["CACHE_DIR"]  # made of the variables, where no type checker sees it
        folder = Path(named) if named else cache_folder("numba")
        self._folder = str(folder / self.get_suitable_cache_subpath(py_file))

    def get_cache_path(self) -> str:
        return self._folder

    def get_source_stamp(self) -> tuple[float, int]:
        found = Path(self._file).stat()
        return found.st_mtime, found.st_size

    def get_disambiguator(self) -> str:
        return str(self._line)

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> _FolderLocator | None:
        found = cls(py_func, py_file)
        try:
            found.ensure_cache_path()
        except OSError:
            return None
        return found


class _Implementation(CompileResultCacheImpl):
    _locator_classes: list[type[object]] = [_FolderLocator]  # noqa: RUF012  # as Numba's own


class _MachineCode(FunctionCache):
    _impl_class = _Implementation

    def __init__(self, py_func: Any) -> None:
        super().__init__(py_func)
        self._cache_file = _NamedFiles(
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=self._impl.locator.get_source_stamp(),
        )


def keep_on_disk(function: Any) -> Any:
    """Keep a compiled function's machine code in the folder of ``NUMBA_CACHE_DIR``, else in the user's caches.

    Where neither can be written to, the function is compiled in each process.
    """
    with suppress(RuntimeError):  # Numba found no folder
        function._cache = _MachineCode(function.py_func)
    return function
