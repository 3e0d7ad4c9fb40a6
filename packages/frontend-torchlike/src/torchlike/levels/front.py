"""The layer of the levels: fallbacks that hand each call to the level on top of the stack.

A tensor that outlives its level carries the layer's key still, so every call with it arrives here. One of a level that
differentiates then represents its value; one under `vmap` has lost the meaning of its batch, and every operator
refuses it, in later transforms too (torch takes it in some).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import dispatch_core as dc

from .calls import call_in_order, shape_of
from .stack import FRONT, TransformLevel, current_levels
from .tensors import LevelData


def open_closed(tensor: Any) -> Any:
    """Return a tensor, or the one that represents it where its level is closed; raises where none does."""
    data = getattr(tensor, "_dispatch_data", None)
    while isinstance(data, LevelData) and data.level not in current_levels():
        tensor = data.level.open_closed(tensor)
        data = tensor._dispatch_data
    return tensor


def _make_front(op: Any, keyset: Any) -> Callable[..., Any]:
    """Return a kernel that hands a call to the level on top; without one, it opens the tensors of closed levels."""
    rules: dict[type[TransformLevel], Callable[[tuple[TransformLevel, ...], tuple[Any, ...]], Any]] = {}

    def run(*values: Any) -> Any:
        levels = current_levels()
        if not levels:
            return call_in_order(op, open_all(levels, values))
        rule = rules.get(type(levels[-1]))
        if rule is None:
            rule = rules[type(levels[-1])] = levels[-1].bind(op, keyset, call)
        return rule(levels, values)

    def call(levels: tuple[TransformLevel, ...], values: tuple[Any, ...]) -> Any:
        return levels[-1].call(keyset, op, open_all(levels, values))

    def open_all(levels: tuple[TransformLevel, ...], values: tuple[Any, ...]) -> tuple[Any, ...]:
        shape = shape_of(op)
        for tensor in shape.tensors_of(values):
            data = getattr(tensor, "_dispatch_data", None)
            if isinstance(data, LevelData) and data.level not in levels:
                return shape.map_tensors(open_closed, values)
        return values

    return run


def _make_back(op: Any, keyset: Any) -> Callable[..., Any]:
    """Return a kernel that goes on below the level on top, whose own kernels have run."""

    def run(*values: Any) -> Any:
        level: Any = current_levels()[-1]
        return level.call_below(op, values)

    return run


_library: Final = dc.Library("_", "IMPL")
with dc.registry.transaction(level="backend"):
    _library.fallback(dc.kernel_factory(_make_front, in_order=True), dc.DispatchKey(FRONT))
    _library.fallback(dc.kernel_factory(_make_back, in_order=True), dc.DispatchKey.FuncTorchDynamicLayerBackMode)
