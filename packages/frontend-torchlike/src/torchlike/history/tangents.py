"""The tangents of dual tensors, which their states hold for as long as a level of forward mode is open."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from ..tensors import Tensor

#: The number of the open level, 0 outside.
dual_level: Final[ContextVar[int]] = ContextVar("torchlike.dual_level", default=0)


def read_tangent(tensor: Any, level: int) -> Tensor | None:
    """Return the tangent that a value has in a level, or None."""
    state = getattr(tensor, "_autograd", None)
    found: tuple[int, Tensor] | None = getattr(state, "tangent", None)
    return found[1] if found is not None and found[0] == level else None


def set_tangent(tensor: Tensor, tangent: Tensor, level: int) -> None:
    """Set a tensor's tangent in a level."""
    tensor._state.tangent = level, tangent
