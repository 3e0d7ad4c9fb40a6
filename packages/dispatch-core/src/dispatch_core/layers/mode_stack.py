"""The modes that are on: a stack for each thread or task, and the state in which a handler is called."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

from ..interrupts import by_subscript
from ..keys import context
from ..keys.table import AUTOGRAD, DispatchKey
from ..operators.overloads import OpOverload
from ..operators.registries import Registry

if TYPE_CHECKING:
    from typing import TypeAlias

    from .modes import DispatchMode

    Handler: TypeAlias = Callable[..., Any]

PYTHON: Final = DispatchKey.Python.value
NEVER: Final = object()


class ActiveMode:
    """A mode that was entered, and the entries around it.

    One whose ``mode`` is None was entered for the handler of a factory, to make tensors of the arrays: see Note [Results of
    a mode] in `mode_kernels`.
    """

    __slots__ = (
        "__weakref__",
        "handler",
        "inner",
        "is_open",
        "mode",
        "outer",
        "registry",
        "state",
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
        #: The context's state in which the mode was called last, and the one that its handler runs in.
        self.state: Any = NEVER
        self.inner: context.State | None = None
        #: A task that was started in the block may outlive it, with the block's context.
        self.is_open = True
        self.tokens: tuple[Any, ...] = ()
        _entries.add(self)

    def run(self, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], *, makes_tensors: bool) -> Any:
        """Call the handler with its mode off; ``makes_tensors`` says that ``op`` is a factory, to be wrapped in there."""
        assert self.handler is not None
        outer, inner = self.outer, self.inner
        if makes_tensors:
            outer, inner = (
                ActiveMode(None, _call, self.registry, self.tensor_type, outer),
                self._find_inner(keeps=PYTHON),
            )
        top, state = set_top[outer], context.set_state[inner]
        try:
            return self.handler(op, (), args, kwargs)
        finally:
            try:
                context.reset_state(state)
            finally:
                reset_top(top)

    def arrive(self, state: context.State | None) -> None:
        """Find the state of the handler, for calls in ``state``."""
        self.state = state
        self.inner = self._find_inner(keeps=0 if self.outer is None else PYTHON)

    def _find_inner(self, *, keeps: int) -> context.State:
        state = self.state
        included, excluded = (0, 0) if state is None else state
        rank = DispatchKey.Python.rank
        dropped = sum(key.value for key in DispatchKey if key.rank >= rank and key is not DispatchKey.Profiler)
        # A mask without the Autograd keys of backends yet to come is a small number, which costs less in tables.
        autograd = sum(key.value for key in DispatchKey if key.value & AUTOGRAD)
        return context.intern_state(included & ~dropped | included & keeps, excluded | autograd)


_entries: Final[WeakSet[ActiveMode]] = WeakSet()
_top: Final[ContextVar[ActiveMode | None]] = ContextVar("dispatch_core.layers.modes", default=None)
current_entry: Final = _top.get
reset_top: Final = _top.reset
set_top: Final = by_subscript(_top.set)


def _call(op: OpOverload, _: tuple[type, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return op(*args, **kwargs)


_known_keys: list[tuple[DispatchKey, ...]] = [()]


def note_keys() -> None:
    """Let entries find their states again if there are new keys since: a backend brings an Autograd key of its own."""
    if DispatchKey._ordered is not _known_keys[0]:
        _known_keys[0] = DispatchKey._ordered
        for entry in list(_entries):
            entry.state = NEVER


def find_entry(registry: Registry) -> ActiveMode | None:
    """Return the innermost mode that is on for the calls of a registry, or None."""
    state, entry = context.current(), current_entry()
    if state is None or not state[0] & PYTHON:
        return None  # in the handler of the outermost mode
    while entry is not None and (entry.registry is not registry or not entry.is_open):
        entry = entry.outer
    if entry is not None:
        entry.arrive(state)
    return entry
