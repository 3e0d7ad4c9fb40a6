"""Torch's operators as tables: schemas with torch's names, overloads, argument names and defaults, and tags.

They are read from the rows of ``families``, each when it is first looked up; ``ATEN`` and ``PRIMS`` are all of them.

>>> ATEN_BY_NAME["relu"].schema, KIND_OF["relu"]
('relu(Tensor self) -> Tensor', 'activation')
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dispatch_core.caches import LazyTable

from .families import FAMILY_TEXTS, OperatorDef, overload_of

if TYPE_CHECKING:
    ATEN: tuple[OperatorDef, ...]
    """Every operator of the ``aten`` namespace."""
    PRIMS: tuple[OperatorDef, ...]
    """Every operator of the ``prims`` namespace."""

__all__ = ["ATEN", "ATEN_BY_NAME", "KIND_OF", "PRIMS", "OperatorDef", "row_of"]

KIND_OF: Final = {name: block.kind for name, block in FAMILY_TEXTS.items() if block.kind != "prims"}
"""The kind of each operator of ``aten``, which is the name of the file that has its row."""

ATEN_BY_NAME: Final[LazyTable[OperatorDef]] = LazyTable(overload_of, KIND_OF)
"""The operators of ``aten`` by name with overload."""

row_of: Final = overload_of


def __getattr__(name: str) -> Any:
    if name == "ATEN":
        made = tuple(ATEN_BY_NAME[each] for each in KIND_OF)
    elif name == "PRIMS":
        made = tuple(overload_of(each) for each, block in FAMILY_TEXTS.items() if block.kind == "prims")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = made
    return made
