"""Machine code on disk, which several processes write at once; see `dispatch_core.files`."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from numba.core import caching, config
from numba.core.caching import CompileResultCacheImpl, _CacheLocator

from dispatch_core.cache_folders import cache_folder
from dispatch_core.files import checked_cache


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


_MachineCode: Final = checked_cache(caching, _impl_class=_Implementation)


def keep_on_disk(function: Any) -> Any:
    """Keep a compiled function's machine code in the folder of ``NUMBA_CACHE_DIR``, else in the user's caches.

    Where neither can be written to, the function is compiled in each process.
    """
    with suppress(RuntimeError):  # Numba found no folder
        function._cache = _MachineCode(function.py_func)
    return function
