"""Functions that get their code at the first call, and may be given other code later, without changing identity.

Note [Globals live as long as their code]
    A call that is under way reads its globals as it goes on. So where their meaning has changed, new code's globals get
    other names, and the older ones are deleted with the last code that reads them: a frame holds its code.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import CodeType, FunctionType
from typing import Any
from weakref import ref

__all__ = ["LateFunction"]


def _first(*args: Any, **kwargs: Any) -> Any:
    return __become(args, kwargs)(*args, **kwargs)  # type: ignore[name-defined]  # noqa: F821  # a global of the function it becomes


def _forward(*args: Any, **kwargs: Any) -> Any:
    return __target(*args, **kwargs)  # type: ignore[name-defined]  # noqa: F821  # as above


class LateFunction:
    """A function, and what makes its code when it is first called.

    ``make`` returns a function; ``lock`` is held meanwhile, so that code made from what has changed since is not kept.
    ``foresee`` is shown the arguments of the first call before that, without the lock.

    >>> import threading
    >>> late = LateFunction(lambda: lambda x, y=2: x + y, threading.RLock())
    >>> late.function(1), late.function.__defaults__
    (3, (2,))
    """

    __slots__ = ("_codes", "_era", "_foresee", "_lock", "_make", "function")

    def __init__(
        self,
        make: Callable[[], Any],
        lock: AbstractContextManager[Any],
        foresee: Callable[[tuple[Any, ...], dict[str, Any]], None] | None = None,
    ) -> None:
        #: How often the meaning of its globals has changed since it first had code; -1 before that.
        self._make, self._lock, self._foresee, self._era = make, lock, foresee, -1
        #: Era → references to its code, which go with the code.
        self._codes: dict[int, dict[int, ref[CodeType]]] = {}
        self.function = FunctionType(_first.__code__, {"__builtins__": builtins, "__become": self._become})

    def _become(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> FunctionType:
        if self._foresee is not None:
            self._foresee(args, kwargs)
        with self._lock:
            self.take(self._make())
        return self.function

    def take(self, made: Any) -> None:
        """Run as ``made`` does from now on; calls under way in other threads end as they began."""
        function = self.function
        # The code comes last: until it is there, the defaults are those of code that does not look at them.
        if made.__closure__:
            names, code, defaults, keyword_defaults = {"__target": made}, _forward.__code__, None, None
        else:
            function.__name__, function.__qualname__ = made.__name__, made.__qualname__
            names, code = made.__globals__, made.__code__
            defaults, keyword_defaults = made.__defaults__, made.__kwdefaults__
        self._era = max(self._era, 0)
        if self._era:
            own = {name: f"{name}@{self._era}" for name in names if name != "__builtins__"}
            names = {own.get(name, name): value for name, value in names.items()}
            code = code.replace(co_names=tuple(own.get(name, name) for name in code.co_names))
            self._watch(code)
        function.__globals__.update(names)
        function.__defaults__, function.__kwdefaults__ = defaults, keyword_defaults
        function.__code__ = code

    def _watch(self, code: CodeType) -> None:
        """Delete an era's globals when the last of its code is gone; see Note [Globals live as long as their code]."""
        era = self._era
        codes = self._codes.setdefault(era, {})

        def gone(reference: ref[CodeType]) -> None:
            del codes[id(reference)]
            self._end(era)

        reference = ref(code, gone)
        codes[id(reference)] = reference

    def _end(self, era: int) -> None:
        if era != self._era and not self._codes.get(era, True) and self._codes.pop(era, None) is not None:
            names = self.function.__globals__
            for name in [name for name in list(names) if name.endswith(f"@{era}")]:
                del names[name]

    def forget(self) -> None:
        """Make the code anew at the next call."""
        self.function.__code__ = _first.__code__

    def forget_meaning(self) -> None:
        """Make the code anew, with globals that may mean something else: see Note [Globals live as long as their code]."""
        if self._era >= 0:
            self._era += 1
        self.forget()
        self._end(self._era - 1)
