"""The kernels: tables from operators to functions of the standard, and what they are made with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from ..library import ArrayLibrary, Kernel
from . import combined, host, indexing, moves, ordering, pointwise, reductions, views

_KINDS: Final = (pointwise, combined, reductions, ordering, indexing, views, moves)


def make_kernels(library: ArrayLibrary, special: Mapping[str, Callable[[ArrayLibrary], Kernel]]) -> dict[str, Kernel]:
    """Return the kernels for a library: its own, those of the standard's functions that it has, the rest by the host."""
    made: dict[str, Kernel] = {}
    for kind in _KINDS:
        made.update(kind.make(library))
    made.update({name: build(library) for name, build in special.items()})
    return host.make(library, made) | made
