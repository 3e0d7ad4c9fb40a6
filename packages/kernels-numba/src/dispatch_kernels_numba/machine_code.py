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
from typing import Any

from numba.core.caching import IndexDataCacheFile


class _NamedFiles(IndexDataCacheFile):
    def save(self, key: Any, data: Any) -> None:
        name = f"{self._index_name.removesuffix('.nbi')}.{hashlib.sha256(repr(key).encode()).hexdigest()[:24]}.nbc"
        # The index comes last, so that what it names is there.
        self._save_data(name, data)
        self._save_index(self._load_index() | {key: name})


def keep_on_disk(function: Any) -> Any:
    """Keep a compiled function's machine code beside its source, or in Numba's own folder.

    Where neither can be written to, the function is compiled in each process.
    """
    try:
        function.enable_caching()
    except RuntimeError:  # Numba found no folder
        return function
    cache = function._cache
    implementation = cache._impl
    cache._cache_file = _NamedFiles(
        cache_path=cache._cache_path,
        filename_base=implementation.filename_base,
        source_stamp=implementation.locator.get_source_stamp(),
    )
    return function
