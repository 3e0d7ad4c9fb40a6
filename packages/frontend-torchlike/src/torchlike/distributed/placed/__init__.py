"""Tensors of several processes, each of which has a part: the placement layer for devices with one array each (cpu, npu).

Importing it makes the layout ``Distributed`` known, and lets operators of the namespace ``dispatch`` place tensors on it.
"""

from __future__ import annotations

from . import kernels  # noqa: F401  # importing it registers them
from .gathers import gathers, set_gather_limit
from .places import find, from_local, place, to_local
from .tensor import DISTRIBUTED, Placed, Spec

__all__ = ["DISTRIBUTED", "Placed", "Spec", "find", "from_local", "gathers", "place", "set_gather_limit", "to_local"]
