"""Tensors over several devices: meshes of devices, how a tensor lies on one, and the operators that change it.

Importing it defines them.

>>> import dispatch_core as dc
>>> dc.ops.dispatch.redistribute.default.name
'dispatch::redistribute'
"""

from .choice import Choice, choose
from .dims import Call, Dims
from .dims_table import USED, find_rule
from .errors import PlacementError
from .mesh import DeviceMesh
from .operators import placement_of
from .types import Partial, Placement, Replicate, Shard, check_placements, split

__all__ = [
    "USED",
    "Call",
    "Choice",
    "DeviceMesh",
    "Dims",
    "Partial",
    "Placement",
    "PlacementError",
    "Replicate",
    "Shard",
    "check_placements",
    "choose",
    "find_rule",
    "placement_of",
    "split",
]
