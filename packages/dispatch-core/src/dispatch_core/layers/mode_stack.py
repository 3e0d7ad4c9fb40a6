"""The modes that are on: a stack for each thread or task, and the state in which a handler is called."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

from ..interrupts import by_subscript, take_back
from ..keys import context
from ..keys.table import AUTOGRAD, DispatchKey
from ..operators.registries import Registry

if TYPE_CHECKING:
    from typing import TypeAlias

    from .modes import DispatchMode

    Handler: TypeAlias = Callable[..., Any]

PYTHON: Final = DispatchKey.Python.value
#: For a mode that was not called in any state.
NEVER: Final[tuple[Any, Any]] = (object(), None)


class ActiveMode:
    """A mode that was entered, and the entries around it.

    One whose ``mode`` is None was entered for the handler of a factory, to make tensors of the arrays: see Note [Results of
    a mode] in `mode_kernels`.
    """

    __slots__ = (
        "__weakref__",
        "handler",
        "is_alone",
        "is_open",
        "mode",
        "outer",
        "registry",
        "states",
        "tensor_type",
        "tokens",
    )

    def __init__(
        self,
        mode: DispatchMode | None,
        handler: Handler | None,
        registry: Registry,
        tensor_type: type | None,
        outer: ActiveMode | None,
    ) -> None:
        self.mode, self.handler, self.registry, self.outer = mode, handler, registry, outer
        self.tensor_type = tensor_type
        #: Whether its handler can be called without a look at other entries.
        self.is_alone = outer is None and handler is not None
        #: The context's state in which the mode was called last, and the one that its handler runs in.
        self.states: tuple[Any, Any] = NEVER
        #: A task that was started in the block may outlive it, with the block's context.
        self.is_open = True
        self.tokens: tuple[Any, ...] = ()
        _entries.add(self)

    def run(self, function: Callable[[], Any], *, makes_tensors: bool = False) -> Any:
        """Call a function with the mode off; ``makes_tensors`` lets factories make tensors of their arrays in there."""
        state, outer = context.current(), self.outer
        states = self.states
        inner = states[1] if states[0] is state else self._find_inner(state)
        if makes_tensors:
            outer = ActiveMode(None, None, self.registry, self.tensor_type, outer)
            inner = context.intern_state(inner[0] | PYTHON, inner[1])
        top, token = set_top[outer], context.set_state[inner]
        try:
            return function()
        finally:
            try:
                context.reset_state(token)
            finally:
                reset_top(top)

    def close(self) -> None:
        """Take the entry back, unless that was done, or as much of it as was not."""
        self.is_open, self.states = False, NEVER
        for token in reversed(self.tokens):
            take_back(token)

    def _find_inner(self, state: context.State | None) -> context.State:
        """Return the state that the handler runs in, for calls in ``state``."""
        inner = find_inner(state, 0 if self.outer is not None else PYTHON)
        if self.is_open:
            self.states = state, inner
        return inner


def find_inner(state: context.State | None, off: int) -> context.State:
    """Return the state in which a handler runs, for calls in ``state``: below the keys above ``Python``, without ``off``."""
    included, excluded = (0, 0) if state is None else state
    above, autograd = _key_masks[0]
    inner = context.intern_state(included & ~above & ~off, excluded | autograd)
    context.keep_in_code(inner)
    return inner


def find_with_autograd() -> context.State | None:
    """Return the context's state without the exclusion of autograd, which handlers run with."""
    state = context.current()
    return None if state is None else context.intern_state(state[0], state[1] & ~_key_masks[0][1])


_entries: Final[WeakSet[ActiveMode]] = WeakSet()
current_variable: Final[ContextVar[ActiveMode | None]] = ContextVar("dispatch_core.layers.modes", default=None)
current_entry: Final = current_variable.get
reset_top: Final = current_variable.reset
set_top: Final = by_subscript(current_variable.set)
#: The mode that was entered last, whether a handler is running or not; its exit takes everything back that is inside.
_entered: Final[ContextVar[ActiveMode | None]] = ContextVar("dispatch_core.layers.modes.entered", default=None)
last_entered: Final = _entered.get
reset_entered: Final = _entered.reset
set_entered: Final = by_subscript(_entered.set)


_known_keys: list[tuple[DispatchKey, ...]] = [()]
#: The keys above ``Python`` that handlers do without, and those of Autograd: without the ones of backends yet to come, which
#: would make it a large number, that costs more in tables.
_key_masks: list[tuple[int, int]] = [(0, 0)]


def note_keys() -> None:
    """Drop the states of entries if there are new keys since: a backend brings an Autograd key of its own."""
    if DispatchKey._ordered is not _known_keys[0]:
        _known_keys[0] = DispatchKey._ordered
        rank = DispatchKey.Python.rank
        above = sum(key.value for key in DispatchKey if key.rank > rank and key is not DispatchKey.Profiler)
        _key_masks[0] = above, sum(key.value for key in DispatchKey if key.value & AUTOGRAD)
        for entry in _list_entries():
            entry.states = NEVER


def _list_entries() -> list[ActiveMode]:
    while True:
        with suppress(RuntimeError):  # another thread has entered a mode meanwhile
            return list(_entries)


def find_entry(registry: Registry) -> ActiveMode | None:
    """Return the innermost mode that is on for the calls of a registry, or None."""
    state, entry = context.current(), current_entry()
    if state is None or not state[0] & PYTHON:
        return None  # in the handler of the outermost mode
    while entry is not None and (entry.registry is not registry or not entry.is_open):
        entry = entry.outer
    return entry
