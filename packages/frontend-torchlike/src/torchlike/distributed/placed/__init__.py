"""Tensors of several processes, each of which has a part: the placement layer for devices with one array each (cpu, npu).

Importing it makes the layout ``Distributed`` known, and lets operators of the namespace ``dispatch`` place tensors on it.
"""

from __future__ import annotations

from ...serialization import add_safe_globals
from . import kernels  # noqa: F401  # importing it registers them
from .gather_counts import gathers, set_gather_limit
from .tensor import DISTRIBUTED, PlacedPart, Spec, make_spec, record_of

__all__ = ["DISTRIBUTED", "PlacedPart", "Spec", "gathers", "record_of", "set_gather_limit"]

add_safe_globals([make_spec])  # as torch's files of such tensors are data
