"""Machine code, which is kept on disk (`dispatch_core.files`), where several processes write it at once.

Note [Loops that are not compiled]
    A loop is compiled in the call that first needs it, which may fail: memory and the disk may be full, Numba and LLVM have
    faults. Then the kernel declines, before it has written to anything but its own results, and the backend's serves the
    call. For the same types it is not tried again, because each try may take a second.
"""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path
from typing import Any, Final

from dispatch_core.files import keep_on_disk
from dispatch_core.files.cache_folders import cache_folder
from dispatch_core.surroundings.logs import Log

_LOG: Final = Log("caches")


class NotCompiledError(RuntimeError):
    """A loop could not be compiled for the types of its arguments; see Note [Loops that are not compiled]."""


@cache
def _place(file: str) -> tuple[Path, str] | None:
    """Return the folder of a source's machine code, and the source's digest; None where there can be no folder.

    It lies in that of ``NUMBA_CACHE_DIR``, else in the user's caches, each source's in its own.
    """
    # Not as Numba has read it: from a file in the current folder, too.
    named = os.environ.get("NUMBA_CACHE_DIR", "")
    try:
        digest = hashlib.sha256(Path(file).read_bytes()).hexdigest()
        return cache_folder("numba", named=named) / f"{Path(file).stem}_{digest[:24]}", digest
    except OSError as error:
        _LOG.warning("the machine code of %s is not kept: %s", file, error)
        return None


def prepare_loop(function: Any) -> Any:
    """Keep the machine code of a function that Numba compiles on disk; raise NotCompiledError where that fails."""
    if (place := _place(function.py_func.__code__.co_filename)) is not None:
        keep_on_disk(function, *place)
    compile_for, failed = function._compile_for_args, set()

    def compile_once(*arguments: Any) -> Any:
        types: Any = None
        try:
            types = tuple(map(function.typeof_pyval, arguments))
            if types not in failed:
                return compile_for(*arguments)
        except Exception as error:
            failed.add(types)
            _LOG.warning("the loop %s is not compiled: %s: %s", function.__name__, type(error).__name__, error)
            raise NotCompiledError(str(error)) from error
        raise NotCompiledError(f"the loop {function.__name__} was not compiled before")

    function._compile_for_args = compile_once  # Numba asks the instance for it, and calls the result
    return function
