"""Modes: the user's own layers, written as a class whose handler gets every call of a block.

Note [Where a mode stands]
    A mode stands under the key ``Python``, below autograd and above pipelines and devices. So it sees the calls that
    backward makes, factories, and the parts of composites; and its result is differentiated, and recorded, as the
    call's own result. Its handler is called below the keys above ``Python`` and with itself off: the calls that it makes go
    to the mode around it, or to pipeline and device. Profiles stay on.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, ClassVar, Self

from ..errors import DispatchError
from ..interrupts import whole
from ..keys import context
from ..keys.table import DispatchKey
from ..lazy_text import repr_by_attributes
from ..operators.overloads import OpOverload
from ..operators.registries import Registry, the_registry
from .mode_kernels import LAYER
from .mode_stack import (
    NEVER,
    PYTHON,
    ActiveMode,
    current_entry,
    last_entered,
    note_keys,
    reset_entered,
    reset_top,
    set_entered,
    set_top,
)


class DispatchMode:
    """Receive every operator that this thread or task calls while a block runs, and do something else instead.

    A subclass writes ``__dispatch__(self, func, types, args=(), kwargs=None)``; its result is the call's. ``func`` is the
    overload, ``types`` is empty, and ``args`` and ``kwargs`` leave out defaults. In the handler the mode is
    off: to go on, it calls ``func(*args, **kwargs)``. Modes nest, the innermost has a call first, and one may be entered
    again inside itself. See Note [Where a mode stands] for the calls that it sees; results of another kind than the schema
    says are refused, and ``NotImplemented`` is. A mode that is not entered costs nothing
    (source: ``torch.utils._python_dispatch.TorchDispatchMode``).

    >>> import dispatch_core as dc
    >>> r = dc.Registry()
    >>> library = dc.Library("demo", "DEF", registry=r)
    >>> name = library.define("twice(int x, int times=1) -> int")
    >>> _ = library.impl("twice", lambda x, times: x * 2**times, "CompositeExplicitAutograd")
    >>> class Loud(DispatchMode):
    ...     registry = r
    ...     def __dispatch__(self, func, types, args=(), kwargs=None):
    ...         print(func.name, args)
    ...         return func(*args, **(kwargs or {})) + 1
    >>> with Loud():
    ...     r.dispatch("demo::twice", 3)
    demo::twice (3,)
    7
    """

    #: The registry whose calls the mode sees; None for the process's.
    registry: ClassVar[Registry | None] = None
    #: The class of tensors that factories return in the handler; None leaves the arrays.
    tensor_type: ClassVar[type | None] = None
    #: The method that gets the calls, for frontends that name it otherwise.
    handler_name: ClassVar[str] = "__dispatch__"

    __repr__ = repr_by_attributes()

    def __dispatch__(
        self,
        func: OpOverload,
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Handle one call, and return its result."""
        raise NotImplementedError(f"{type(self).__qualname__} does not define __dispatch__")

    def dispatch_handler(self) -> Callable[..., Any]:
        """Return the function that gets the calls while the mode is on; asked for when it is entered."""
        handler: Callable[..., Any] = getattr(self, type(self).handler_name)
        return handler

    def __enter__(self) -> Self:
        # The class's: an instance may have attributes of these names.
        cls = type(self)
        registry, state = the_registry(cls.registry), context.current()
        registry.ensure_fallback(DispatchKey.Python, LAYER)
        note_keys()
        # In the handler of the outermost mode none is on, though the variable holds that mode.
        outer = current_entry() if state is not None and state[0] & PYTHON else None
        entry = ActiveMode(self, cls.dispatch_handler(self), registry, cls.tensor_type, outer)
        included = context.with_included(PYTHON)
        try:
            entry.tokens = (set_entered[entry], set_top[entry], context.set_state[included])
            return self
        except BaseException:
            entry.close()
            raise

    @whole
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            entry = last_entered()
            if entry is None or entry.mode is not self:
                raise DispatchError(
                    f"{type(self).__qualname__}: the block ends where it is not the innermost mode",
                    hint="leave modes in the opposite order to that in which they were entered, in the same thread or task",
                )
            entry.is_open, entry.states = False, NEVER
            entered, top, state = entry.tokens
            context.reset_state(state)
            reset_top(top)
            reset_entered(entered)
        except BaseException:
            # The interrupt may have come first.
            entry = locals().get("entry", last_entered())
            if entry is not None and entry.mode is self:
                entry.close()
            raise
