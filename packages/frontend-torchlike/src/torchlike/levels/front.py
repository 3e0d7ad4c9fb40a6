"""The layer of the levels: fallbacks that hand each call to the level on top of the stack.

A tensor that outlives its level carries the layer's key still, so every call with it arrives here. One of a level that
differentiates then represents its value; one under `vmap` has lost the meaning of its batch, and every operator
refuses it, in later transforms too (torch takes it in some).

Note [Layouts of a level's tensors]
    A tensor of a layout that a function makes of a level's tensors is none of the level's. Where its components have the
    history, its layout's kernels run with the level on, which sees the calls on the components; nested tensors have a way of
    their own in the levels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import dispatch_core as dc
from dispatch_core import frontends
from dispatch_core.keys import ARRAYS, LAYOUTS

from ..tensors.tensor import frontend
from .calls import call_in_order, shape_of
from .stack import FRONT, TransformLevel, current_levels
from .tensors import NESTED, LevelData


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
        rule = rules.get(type(levels[-1])) if levels else call
        if rule is None:
            rule = rules[type(levels[-1])] = levels[-1].bind(op, keyset, call)
        return rule(levels, values)

    def call(levels: tuple[TransformLevel, ...], values: tuple[Any, ...]) -> Any:
        shape = shape_of(op)
        for tensor in shape.tensors_of(values):
            data = getattr(tensor, "_dispatch_data", None)
            if isinstance(data, LevelData) and data.level not in levels:
                values = shape.map_tensors(open_closed, values)
                break
            if levels and getattr(tensor, "_dispatch_mask", 0) & LAYOUTS and _stands_for_components(tensor, levels[-1]):
                return op.runner(_arrays_of(shape.tensors_of(values)) | frontend.marker)(*values)
        return levels[-1].call(keyset, op, values) if levels else call_in_order(op, values)

    return run


def _stands_for_components(tensor: Any, level: Any) -> bool:
    """Return whether a layout's tensor is taken by its components: see Note [Layouts of a level's tensors]."""
    layout = frontends.find_layout(tensor)
    if layout is None or not layout.components_have_history or tensor._dispatch_mask & NESTED:
        return False
    return any(map(level.owns, frontends.components_of(tensor)))


def _arrays_of(tensors: Any) -> int:
    found = 0
    for tensor in tensors:
        found |= getattr(tensor, "_dispatch_mask", 0) & ARRAYS
    return found


def _make_back(op: Any, keyset: Any) -> Callable[..., Any]:
    """Return a kernel that goes on below the level on top, whose own kernels have run."""
    ways: dict[type[TransformLevel], Callable[[tuple[TransformLevel, ...], tuple[Any, ...]], Any]] = {}

    def run(*values: Any) -> Any:
        levels = current_levels()
        kind = type(levels[-1])
        way = ways.get(kind) or ways.setdefault(kind, kind.bind_below(op))
        return way(levels, values)

    return run


_library: Final = dc.Library("_", "IMPL")
with dc.registry.transaction(level="backend"):
    _library.fallback(dc.kernel_factory(_make_front, in_order=True), dc.DispatchKey(FRONT))
    _library.fallback(dc.kernel_factory(_make_back, in_order=True), dc.DispatchKey.FuncTorchDynamicLayerBackMode)
