"""The settings of the context that few calls look at: observers of new nodes, anomaly mode, and autocast's choices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from ..names.lazy_names import import_lazily

if TYPE_CHECKING:
    from .node import Node
else:
    Node = import_lazily("torchlike.history.node", "Node")

#: Functions that see every node as it is made, with the results of the call.
node_observers: Final[ContextVar[tuple[Callable[[Node, Sequence[Any]], Any], ...]]] = ContextVar(
    "torchlike.node_observers", default=()
)


def refused_by_captures() -> bool:
    """Return whether nodes are observed by something that a replay, which shows none, could not serve."""
    return any(not getattr(each, "is_for_replays", False) for each in node_observers.get())


#: Called with every tensor that an operator is about to write to, while nodes are observed.
write_observers: Final[ContextVar[tuple[Callable[[Any], Any], ...]]] = ContextVar(
    "torchlike.write_observers", default=()
)
#: Whether anomaly mode is on, and whether it looks for nan.
anomaly_mode: Final[ContextVar[tuple[bool, bool]]] = ContextVar("torchlike.anomaly_mode", default=(False, True))
#: The choices of autocast's blocks: `torchlike.amp.settings.Choices`, or None. Captured calls depend on it.
autocast_choices: Final[ContextVar[Any]] = ContextVar("torchlike.autocast", default=None)
current_autocast: Final = autocast_choices.get
#: The blocks of autocast around the running code, and the casts that they share: `torchlike.amp.cast_cache.Nesting`.
autocast_nesting: Final[ContextVar[Any]] = ContextVar("torchlike.autocast_nesting", default=None)
current_nesting: Final = autocast_nesting.get


def is_any_autocast_enabled() -> bool:
    """Return whether autocast is on for some device."""
    choices = current_autocast()
    return choices is not None and bool(choices.active)
