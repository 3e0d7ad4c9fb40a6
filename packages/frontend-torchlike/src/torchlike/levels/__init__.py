"""Levels: the stack that function transforms (`torchlike.func`) open, and the layer that runs calls through it.

A level is one transform that is under way. Its tensors are ordinary ones whose data names the tensor one level below
(`tensors`). A call arrives at ``FuncTorchDynamicLayerFrontMode``, whose fallback (`front`) hands it to the level on top of
the stack: `vmap_level` runs a batching rule, `grad_level` records for backward; both go on with the stack popped.

A level of one's own is made of these names: a subclass of `TransformLevel`, opened by `above`.
"""

from __future__ import annotations

from . import front  # registers the layer
from .calls import call_in_order, map_tensors, tensors_of, wrap_results, written_tensors
from .stack import TransformLevel, above, below, current_levels
from .tensors import LevelData, data_of, stand_for, wrap_value

__all__ = [
    "LevelData",
    "TransformLevel",
    "above",
    "below",
    "call_in_order",
    "current_levels",
    "data_of",
    "front",
    "map_tensors",
    "stand_for",
    "tensors_of",
    "wrap_results",
    "wrap_value",
    "written_tensors",
]
