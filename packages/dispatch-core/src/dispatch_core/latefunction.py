"""Functions that get their code at the first call, and may be given other code later, without changing identity."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import FunctionType
from typing import Any

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

    __slots__ = ("_foresee", "_lock", "_make", "function")

    def __init__(
        self,
        make: Callable[[], Any],
        lock: AbstractContextManager[Any],
        foresee: Callable[[tuple[Any, ...], dict[str, Any]], None] | None = None,
    ) -> None:
        self._make, self._lock, self._foresee = make, lock, foresee
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
            function.__globals__["__target"] = made
            code, defaults, keyword_defaults = _forward.__code__, None, None
        else:
            function.__globals__.update(made.__globals__)
            code, defaults, keyword_defaults = made.__code__, made.__defaults__, made.__kwdefaults__
        function.__defaults__, function.__kwdefaults__ = defaults, keyword_defaults
        function.__name__, function.__qualname__ = made.__name__, made.__qualname__
        function.__code__ = code

    def forget(self) -> None:
        """Make the code anew at the next call."""
        self.function.__code__ = _first.__code__
