"""What is replaced while a function is traced: calls and attributes of modules, and wrapped functions.

Note [Replaced while tracing]
    ``Module.__call__`` and ``Module.__getattr__`` are replaced, and the global variables by which wrapped functions are
    called; nothing else. All are put back when tracing ends, by an error, too.
"""

from __future__ import annotations

import builtins
import functools
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Self

from ..node import map_aggregate
from ..proxy import Proxy
from .wrapped import WRAPPED_FUNCTIONS, WRAPPED_METHODS

__all__ = ["Patcher", "find_proxy"]


def find_proxy(*values: Any) -> Proxy | None:
    """Return the last proxy among values and in their containers, None where there is none."""
    found: list[Proxy] = []
    map_aggregate(values, lambda each: found.append(each) if isinstance(each, Proxy) else None)
    return found[-1] if found else None


def _record_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose calls with a proxy become nodes."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        proxy = find_proxy(args, kwargs)
        if proxy is None:
            return function(*args, **kwargs)
        recorded = proxy.tracer.create_proxy("call_function", function, args, kwargs)
        recorded.node.meta["is_wrapped"] = True
        return recorded

    return call


def _record_method(cls: type, name: str) -> Callable[..., Any]:
    method = getattr(cls, name)

    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        proxy = find_proxy(args, kwargs)
        return (
            method(*args, **kwargs) if proxy is None else proxy.tracer.create_proxy("call_method", name, args, kwargs)
        )

    return call


_MISSING: Final = object()
#: The functions that replace wrapped ones while functions are traced, one trace within another perhaps.
_RECORDERS: Final[weakref.WeakSet[Callable[..., Any]]] = weakref.WeakSet()


class Patcher:
    """Replaces attributes and global variables within a block; see Note [Replaced while tracing]."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []
        self._visited: set[int] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self._undo:
            self._undo.pop()()
        self._visited.clear()

    def patch_method(self, cls: type, name: str, function: Callable[..., Any]) -> None:
        """Replace a method of a class."""
        former = cls.__dict__.get(name, _MISSING)
        self._undo.append(
            functools.partial(delattr, cls, name)
            if former is _MISSING
            else functools.partial(setattr, cls, name, former)
        )
        setattr(cls, name, function)

    def _patch_global(self, variables: dict[str, Any], name: str, function: Callable[..., Any]) -> None:
        """Replace a global variable, unless that has been done."""
        if function in _RECORDERS:
            return
        former = variables.get(name, _MISSING)
        self._undo.append(
            functools.partial(variables.pop, name)
            if former is _MISSING
            else functools.partial(variables.__setitem__, name, former)
        )
        variables[name] = recorder = _record_function(function)
        _RECORDERS.add(recorder)

    def patch_wrapped(self) -> None:
        """Replace all wrapped functions and methods."""
        for (_, name), variables in list(WRAPPED_FUNCTIONS.items()):
            function = variables[name] if name in variables else getattr(builtins, name)
            self._patch_global(variables, name, function)
        for cls, name in WRAPPED_METHODS:
            self.patch_method(cls, name, _record_method(cls, name))

    def wrap_globals(self, variables: dict[str, Any], functions: set[int]) -> None:
        """Replace the functions of given identities among the global variables of a module."""
        if id(variables) in self._visited:
            return
        self._visited.add(id(variables))
        for name, value in list(variables.items()):
            if not name.startswith("_") and callable(value) and id(value) in functions:
                self._patch_global(variables, name, value)
