"""The kernels: tables from operators to functions of the standard, and the functions that make kernels of them.

The host computes the operators that are neither here nor composed of others: see ``BackendInfo(fallback="host")``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from dispatch_aten.decompositions import EXPLICIT

from ..library import ArrayLibrary, Kernel
from ..value_checks import CHECKED, check_values
from . import combined, indexing, moves, ordering, pointwise, reductions, views

_KINDS: Final = (pointwise, combined, reductions, ordering, indexing, views, moves)


def make_kernels(
    library: ArrayLibrary,
    special: Mapping[str, Callable[[ArrayLibrary], Kernel]],
    wrappers: Mapping[str, Callable[[Kernel], Kernel]],
) -> dict[str, Kernel]:
    """Return the kernels for a library: its own, those of the standard's functions that it has.

    ``wrappers`` change some of them, or the composites of operators that have none.
    """
    made: dict[str, Kernel] = {}
    for kind in _KINDS:
        made.update(kind.make(library))
    made.update({name: build(library) for name, build in special.items()})
    made.update({name: wrap(made[name] if name in made else EXPLICIT[name]) for name, wrap in wrappers.items()})
    composed = {name: EXPLICIT[name] for name in CHECKED.difference(made) if name in EXPLICIT}
    return {name: check_values(library, name, kernel) for name, kernel in (made | composed).items()}
