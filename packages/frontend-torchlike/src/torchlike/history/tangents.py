"""The tangents of dual tensors, which their states hold for as long as a level of forward mode is open."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final

from ..names.lazy_names import Tensor

#: The number of the open level, 0 outside.
dual_level: Final[ContextVar[int]] = ContextVar("torchlike.dual_level", default=0)


#: How a view takes its part of its base's tangent: a function of the view, the tangent and the level; set by forward mode.
FOLLOW: Final[list[Callable[[Any, Tensor, int], Tensor]]] = []


def read_tangent(tensor: Any, level: int) -> Tensor | None:
    """Return the tangent that a value has in a level, or None; a view without one has its part of its base's."""
    found = _read(tensor, level)
    if found is not None:
        return found[1]
    base = find_base(tensor)
    found = None if base is None else _read(base, level)
    return None if found is None or found[1] is None else FOLLOW[0](tensor, found[1], level)


def _read(tensor: Any, level: int) -> tuple[int, Tensor | None] | None:
    found: tuple[int, Tensor | None] | None = getattr(getattr(tensor, "_autograd", None), "tangent", None)
    return found if found is not None and found[0] == level else None


def find_base(tensor: Any) -> Tensor | None:
    """Return the tensor that a value is a view of, or None, without making a state for it."""
    state = getattr(tensor, "_autograd", None)
    found: Tensor | None = state[0] if type(state) is tuple else getattr(state, "base", None)
    return found


def has_no_tangent(tensor: Tensor, level: int) -> bool:
    """Return whether a tensor was made to have no tangent in a level, whatever its base has."""
    return _read(tensor, level) == (level, None)


def set_tangent(tensor: Any, tangent: Tensor | None, level: int) -> None:
    """Set a tensor's tangent in a level; None for one that has none, whatever its base has."""
    tensor._state.tangent = level, tangent
