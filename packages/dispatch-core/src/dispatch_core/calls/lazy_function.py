"""Functions that get their code at the first call, and may be given other code later, without changing identity.

Note [Globals live as long as their code]
    A call that is under way reads its globals as it goes on. So where their meaning has changed, new code's globals get
    other names, and the older ones are deleted with the last code that reads them: a frame holds its code.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from weakref import ref

from ..tracebacks import trim_traceback
from .emit import is_generated

if TYPE_CHECKING:
    from .native.plans import CallPlan

#: How many calls of a function are served by others, before it gets code of its own.
FIRST_CALLS = 8
#: A function that serves a call, its arguments in order, and whether its results are compared.
Found: TypeAlias = tuple[Callable[..., Any], Sequence[Any], bool]
#: Finds for the arguments of a call what serves it, or None.
FirstCalls: TypeAlias = Callable[[tuple[Any, ...], dict[str, Any]], Found | None]

_NO_LOCK: Final[AbstractContextManager[Any]] = nullcontext()


def _first(*args: object, **kwargs: object) -> object:
    try:
        __function, __args, __kwargs = __lazy._find(args, kwargs)  # type: ignore[name-defined]  # noqa: F821  # a global of the function it becomes
        return __function(*__args, **__kwargs)
    except Exception as error:
        __trim(error)  # type: ignore[name-defined]  # noqa: F821  # as above
        raise


def _first_inside(*args: object, **kwargs: object) -> object:
    __function, __args, __kwargs = __lazy._find(args, kwargs)  # type: ignore[name-defined]  # noqa: F821  # as above
    return __function(*__args, **__kwargs)


def _forward(*args: object, **kwargs: object) -> object:
    try:
        return __target(*args, **kwargs)  # type: ignore[name-defined]  # noqa: F821  # as above
    except Exception as error:
        __trim(error)  # type: ignore[name-defined]  # noqa: F821  # as above
        raise


def make_code(function: Callable[..., object]) -> None:
    """Make the code of a lazy function now, so that its next call is not its first; other functions stay as they are.

    >>> from dispatch_core.calls.emit import define, make_function
    >>> text = define("add(x, y=2)", ["return x + y"])
    >>> add = LazyFunction(lambda: make_function(text, "add", {}), name="add").function
    >>> make_code(add)
    >>> add.__defaults__
    (2,)
    """
    lazy = getattr(function, "__globals__", {}).get("__lazy")
    if lazy is not None:
        lazy.make()


class LazyFunction:
    """A function whose code is made when it is first called, or once it has been called a few times.

    ``make`` returns a function, whose code is taken over where `emit.make_function` made it, and which is called
    otherwise; ``lock`` is held meanwhile, so that code made of an older state is not kept. ``first_calls`` gets the
    arguments of a call as long as there is no code, without the lock. It may return a function and arguments that serve
    the call: the first `FIRST_CALLS` of these are, and besides all those whose results are compared.
    Without a ``name`` the function takes the name and module of the one that ``make`` returned. With ``is_inside`` it trims
    no tracebacks: another function calls it. By a ``plan`` a compiled front stands for the function, and hands it the calls
    that it does not serve; see Note [A compiled front] in `native`.

    >>> from dispatch_core.calls.emit import define, make_function
    >>> text = define("add(x, y=2)", ["return x + y"])
    >>> add = LazyFunction(lambda: make_function(text, "add", {}), name="add").function
    >>> add(1), add.__defaults__
    (3, (2,))
    """

    # fmt: off
    __slots__ = (
        "_codes", "_first", "_first_calls", "_generation", "_is_named", "_left", "_lock", "_make", "_plan", "_python",
        "function",
    )
    # fmt: on

    def __init__(
        self,
        make: Callable[[], Any],
        lock: AbstractContextManager[Any] = _NO_LOCK,
        first_calls: FirstCalls | None = None,
        *,
        name: str = "",
        is_inside: bool = False,
        plan: CallPlan | None = None,
    ) -> None:
        self._make, self._lock, self._is_named = make, lock, bool(name)
        self._first_calls, self._left, self._first = first_calls, FIRST_CALLS, (_first_inside if is_inside else _first)
        #: How often the meaning of its globals has changed since it first had code; -1 before that.
        self._generation = -1
        #: Generation → references to its code, which go with the code.
        self._codes: dict[int, dict[int, ref[CodeType]]] | None = None
        names = {"__builtins__": builtins, "__name__": __name__, "__lazy": self, "__trim": trim_traceback}
        self._python = FunctionType(self._first.__code__, names, name)
        if name:
            self._python.__qualname__ = name  # CPython's own argument errors begin with it
        self._plan = plan
        self.function: Any = self._python if plan is None else plan.make_front(self._python)

    def _find(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Callable[..., Any], Any, dict[str, Any]]:
        """Return a function and arguments that serve a call: those of the first calls, or this one with code."""
        found = None if self._first_calls is None else self._first_calls(args, kwargs)
        if found is not None:
            function, values, is_watched = found
            if is_watched or self._left > 0:
                self._left -= not is_watched
                return function, values, {}
        with self._lock:
            self.take(self._make())
        return self._python, args, kwargs

    def make(self) -> None:
        """Make the code, unless it is there."""
        with self._lock:
            if self._python.__code__ is self._first.__code__:
                self.take(self._make())

    def take(self, made: Callable[..., object]) -> None:
        """Run as ``made`` does from now on; calls under way in other threads end as they began."""
        function = self._python
        # The code comes last: until it is there, the defaults are those of code that does not look at them.
        if is_generated(made):
            if not self._is_named:
                function.__name__ = function.__name__ or made.__name__  # an overload has torch's
                function.__qualname__ = made.__qualname__
            names, code = made.__globals__, made.__code__
            defaults, keyword_defaults = made.__defaults__, made.__kwdefaults__
        else:
            names, code, defaults, keyword_defaults = {"__target": made}, _forward.__code__, None, None
        self._generation = max(self._generation, 0)
        if self._generation:
            own = {name: f"{name}@{self._generation}" for name in names if name != "__builtins__"}
            names = {own.get(name, name): value for name, value in names.items()}
            code = code.replace(co_names=tuple(own.get(name, name) for name in code.co_names))
            self._watch(code)
        function.__globals__.update(names)
        function.__defaults__, function.__kwdefaults__ = defaults, keyword_defaults
        function.__code__ = code

    def _watch(self, code: CodeType) -> None:
        """Delete a generation's globals with the last of its code; see Note [Globals live as long as their code]."""
        generation = self._generation
        self._codes = {} if self._codes is None else self._codes
        codes = self._codes.setdefault(generation, {})

        def remove(reference: ref[CodeType]) -> None:
            del codes[id(reference)]
            self._end(generation)

        reference = ref(code, remove)
        codes[id(reference)] = reference

    def _end(self, generation: int) -> None:
        codes = self._codes
        if codes is None or generation == self._generation or codes.get(generation, True):
            return
        if codes.pop(generation, None) is not None:
            names = self._python.__globals__
            for name in [name for name in list(names) if name.endswith(f"@{generation}")]:
                del names[name]

    def reset(self) -> None:
        """Make the code again at the next call."""
        self._python.__code__ = self._first.__code__

    def invalidate(self) -> None:
        """Make the code again, with globals that may mean something else: see Note [Globals live as long as their code]."""
        if self._generation >= 0:
            self._generation += 1
        self.reset()
        if self._plan is not None:
            self._plan.forget(self.function)
        self._end(self._generation - 1)

    def forget_targets(self) -> None:
        """Drop the runners that a compiled front knows, if there is one."""
        if self._plan is not None:
            self._plan.forget_targets(self.function)
