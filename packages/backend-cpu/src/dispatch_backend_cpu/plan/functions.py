"""The function that runs a chain.

Small values are computed whole, one ufunc after the other, each into memory that NumPy provides: the number of calls
decides. Large ones are computed tile by tile in two or three buffers that stay in the cache, and only stored values
get memory of their own: the amount of memory that is touched decides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dispatch_core.surroundings.logs import Log

from ..fp_errors import ignore_fp_errors_in_step
from .chain import Chain
from .compiled import CompiledWriter, can_compile, is_available, runs_before
from .native_chain import compile_native
from .space import Space
from .tiled import TiledWriter
from .whole import WholeWriter

_LOG: Final = Log("caches")
#: Up to so many elements values are computed whole.
WHOLE: Final = 16384


def make_function(chain: Chain) -> Callable[[list[Any]], None]:
    """Make the function that runs a chain on the list of a plan's values."""
    space = chain.space()
    writer = WholeWriter if space.size <= WHOLE or not chain.shape else TiledWriter
    run = ignore_fp_errors_in_step(writer(chain, space).compile())
    compiled = compile_native(chain, run) if writer is WholeWriter else None
    if compiled is not None:
        return compiled
    limit = runs_before()
    jit = limit and chain.fold is None and chain.shape and space.is_flat
    return _compile_later(run, chain, space, limit) if jit and is_available() and can_compile(chain.operations) else run


def _compile_later(
    run: Callable[[list[Any]], None], chain: Chain, space: Space, limit: int
) -> Callable[[list[Any]], None]:
    """Make a function that compiles the chain once it has been called ``limit`` times; see Note [When it is compiled]."""
    left = limit
    compiled: Callable[[list[Any]], None] | None = None

    def either(values: list[Any]) -> None:
        nonlocal left, compiled
        if compiled is not None:
            try:
                compiled(values)
            except TypeError:
                pass  # Arrays that were not compiled for: read-only or not aligned. Nothing has run.
            else:
                return
        elif left > 0:
            left -= 1
            if not left:
                try:
                    compiled = CompiledWriter(chain, space).compile()
                except Exception as error:  # noqa: BLE001  # the other form is at hand
                    _LOG.warning("a chain is not compiled: %s: %s", type(error).__name__, error)
        run(values)

    return either
