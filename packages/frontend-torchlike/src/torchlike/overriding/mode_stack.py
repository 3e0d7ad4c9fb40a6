"""The function modes that are on in a thread or task, the innermost last."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from dispatch_core.frontends import current_masks, reset_masks, set_masks, with_included, without_included

from ..tensors.overriding_classes import ENTERED, MODES

__all__ = ["ENTERED", "innermost", "list_modes", "reset", "set_modes", "without_innermost"]

_stack: Final[ContextVar[tuple[Any, ...]]] = ContextVar("torchlike.overrides.modes", default=())


def innermost() -> Any:
    """Return the mode that was entered last and is on, or None."""
    modes = _stack.get()
    return modes[-1] if modes else None


def list_modes() -> tuple[Any, ...]:
    """Return the modes that are on, the innermost last."""
    return _stack.get()


def set_modes(modes: tuple[Any, ...]) -> tuple[Any, Any]:
    """Replace the modes that are on, and return the tokens by which `reset` takes that back."""
    state = current_masks()
    masks = with_included(MODES) if modes else without_included(MODES) if state is not None else None
    return _stack.set(modes), set_masks[masks]


def reset(tokens: tuple[Any, Any]) -> None:
    """Take a replacement of the modes back."""
    stack, masks = tokens
    reset_masks(masks)
    _stack.reset(stack)


@contextmanager
def without_innermost() -> Iterator[None]:
    """Turn the innermost mode off while its handler runs."""
    tokens = set_modes(_stack.get()[:-1])
    try:
        yield
    finally:
        reset(tokens)
