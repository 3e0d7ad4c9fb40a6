"""Tensors over several devices: meshes of devices, how a tensor lies on one, and the operator that changes it.

Importing it defines ``dispatch::redistribute``.

>>> import dispatch_core as dc
>>> dc.ops.dispatch.redistribute.default.name
'dispatch::redistribute'
"""

from . import operators  # noqa: F401  # importing it defines the operators
from .errors import PlacementError
from .mesh import DeviceMesh
from .types import Partial, Placement, Replicate, Shard, check_placements, split

__all__ = [
    "DeviceMesh",
    "Partial",
    "Placement",
    "PlacementError",
    "Replicate",
    "Shard",
    "check_placements",
    "split",
]
