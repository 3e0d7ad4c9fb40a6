"""The layer of the levels: fallbacks that hand each call to the level on top of the stack.

Note [A tensor of a closed level]
    A tensor that outlives its level carries the layer's key still, so every call with it arrives here. One of a level that
    differentiates then stands for its value; one under `vmap` has lost the meaning of its batch, and every operator
    refuses it, in later transforms too (torch takes it in some).
"""

from __future__ import annotations

from typing import Any, Final

import dispatch_core as dc

from .calls import call_in_order, map_tensors
from .stack import FRONT, current_levels
from .tensors import LevelData

__all__ = ["open_closed"]


def open_closed(tensor: Any) -> Any:
    """Return a tensor, or the one that stands for it where its level is closed; raises where none does."""
    data = getattr(tensor, "_dispatch_data", None)
    while isinstance(data, LevelData) and data.level not in current_levels():
        tensor = data.level.open_closed(tensor)
        data = tensor._dispatch_data
    return tensor


def run_front(keyset: Any, op: Any, *args: Any, **kwargs: Any) -> Any:
    """Hand a call to the level on top (the boxed fallback); without one, open the tensors of closed levels."""
    values = map_tensors(op, open_closed, (*args, *kwargs.values()))
    levels = current_levels()
    return levels[-1].call(keyset, op, values) if levels else call_in_order(op, values)


def run_back(keyset: Any, op: Any, *args: Any, **kwargs: Any) -> Any:
    """Go on below the level on top, whose own kernels have run (the boxed fallback)."""
    level: Any = current_levels()[-1]
    return level.call_below(op, (*args, *kwargs.values()))


_library: Final = dc.Library("_", "IMPL")
with dc.registry.transaction(level="backend"):
    _library.fallback(run_front, dc.DispatchKey(FRONT), with_keyset=True)
    _library.fallback(run_back, dc.DispatchKey.FuncTorchDynamicLayerBackMode, with_keyset=True)
