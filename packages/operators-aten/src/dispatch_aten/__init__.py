"""Torch's operators for dispatch-core: schemas, tags, type promotion, shape rules, decompositions, derivative formulas.

Importing this package defines the namespaces ``aten`` and ``prims`` in the process's registry and registers the composite
kernels; dispatch-core does so on the first use of either namespace.

>>> import dispatch_core as dc
>>> dc.ops.aten.add.Tensor.schema.name.overload
'Tensor'
"""

from __future__ import annotations

from typing import Final

from dispatch_core import Library, registry
from dispatch_core.tracebacks import hide_frames

from .decompositions import register
from .operators import ATEN, PRIMS

__version__ = "0.1.0"
__all__ = ["ATEN_LIBRARY", "PRIMS_LIBRARY"]

hide_frames(__name__)


def _define() -> tuple[Library, Library]:
    # Below the program's registrations, also where the program imports this package itself.
    with registry.transaction(level="backend"):
        aten, prims = Library("aten", "DEF"), Library("prims", "DEF")
        for library, operators in ((aten, ATEN), (prims, PRIMS)):
            for operator in operators:
                library.define(operator.schema, tags=operator.tags)
        register(aten)
        return aten, prims


_libraries = _define()
ATEN_LIBRARY: Final = _libraries[0]
"""The library that holds every definition and composite kernel of ``aten``."""
PRIMS_LIBRARY: Final = _libraries[1]
"""The library that holds the definitions of ``prims``."""
