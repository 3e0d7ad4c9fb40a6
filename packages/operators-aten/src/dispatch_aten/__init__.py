"""Torch's operators for dispatch-core: schemas, tags, type promotion, shape rules, decompositions, derivative formulas.

Importing this package announces the operators of ``aten`` and ``prims`` to the process's registry; dispatch-core does so
on the first use of either namespace. An operator is defined, with its composite kernels, when it is first named.

>>> import dispatch_core as dc
>>> dc.ops.aten.add.Tensor.schema.name.overload
'Tensor'
"""

from __future__ import annotations

from typing import Final

from dispatch_core import LazyDefinition, Library, registry
from dispatch_core.tracebacks import hide_frames

from .families import FAMILY_TEXTS
from .operators import KIND_OF, row_of

__version__ = "0.1.0"
__all__ = ["ATEN_LIBRARY", "PRIMS_LIBRARY"]

hide_frames(__name__)


def _define_aten(name: str) -> LazyDefinition:
    from .decompositions import composite_kernels, way_of  # hundreds of functions, which no name needs

    operator = row_of(name)
    return LazyDefinition(operator.schema, operator.tags, composite_kernels(operator), way_of(name))


def _define_prim(name: str) -> LazyDefinition:
    from .families.prims.composites import PRIMITIVES

    kernels = {"CompositeExplicitAutograd": PRIMITIVES[name]} if name in PRIMITIVES else {}
    operator = row_of(f"prims::{name}")
    return LazyDefinition(operator.schema, operator.tags, kernels)


def _document(name: str, overload: str | None) -> str | None:
    from .texts import document_operator  # tables that only help reads

    return document_operator(name, overload)


def _announce() -> tuple[Library, Library]:
    # Below the program's registrations, also where the program imports this package itself.
    with registry.transaction(level="backend"):
        aten, prims = Library("aten", "DEF"), Library("prims", "DEF")
        aten.define_lazily(KIND_OF, _define_aten)
        prims.define_lazily(
            [name.removeprefix("prims::") for name in FAMILY_TEXTS if name not in KIND_OF], _define_prim
        )
        aten.document(_document)
        prims.document(_document)
        return aten, prims


_libraries = _announce()
ATEN_LIBRARY: Final = _libraries[0]
"""The library that holds every definition and composite kernel of ``aten``."""
PRIMS_LIBRARY: Final = _libraries[1]
"""The library that holds the definitions of ``prims``."""
