"""The parts of shells: classes, functions, decorators, questions and blocks, each made of its row in the table.

Note [Refused at the use]
    Libraries name much of torch that they never run: in annotations, in ``isinstance``, as bases, in decorators. So a class
    of a shell can be named and subclassed, and a function passed on; an instance, or a call, is a ``NotImplementedError``.
    An ``AttributeError`` would not do there: within a property of a module it would read as a missing attribute.
"""

from __future__ import annotations

import ast
import builtins
import collections
import enum
import logging
import typing
from collections.abc import Callable
from types import FunctionType
from typing import Any, Final

from dispatch_core.tracebacks import api_boundary

__all__ = ["make", "make_class", "observers"]

#: Called with the path of a shell that is used.
observers: Final[list[Callable[[str], object]]] = []


def _refuse(path: str, note: str = "") -> NotImplementedError:
    """Return the error for a use of a shell; see Note [Refused at the use]."""
    from ..names.left_out import explain_shell  # only an error needs its table

    for observe in observers:
        observe(path)
    return NotImplementedError(f"{path}{note} is there by name only{explain_shell(path)}")


def _name(function: Any, path: str) -> Any:
    module, _, name = path.rpartition(".")
    function.__module__, function.__name__, function.__qualname__ = module, name, name
    return function


def make_function(path: str) -> FunctionType:
    """Return a function that refuses each call."""

    @api_boundary
    def function(*args: Any, **kwargs: Any) -> Any:
        raise _refuse(path)

    found: FunctionType = _name(function, path)
    return found


def make_nothing(path: str) -> Any:
    """Return a decorator that changes nothing, with arguments or without, which registers nothing, too."""

    def nothing(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and callable(args[0]):
            return args[0]
        return _keep

    return _name(nothing, path)


def _keep(decorated: Any, *args: Any) -> Any:
    return decorated


def make_question(path: str) -> Any:
    """Return a function that answers no."""

    def question(*args: Any, **kwargs: Any) -> bool:
        return False

    return _name(question, path)


class _EmptyBlock:
    """A block, or a decorator of functions, that does nothing."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass

    def __call__(self, function: Any) -> Any:
        return function


def make_block(path: str) -> type:
    """Return a class of blocks that do nothing."""
    module, _, name = path.rpartition(".")
    return type(name, (_EmptyBlock,), {"__module__": module, "__qualname__": name})


def make_class(path: str, bases: tuple[type, ...]) -> type:
    """Return a class that has no instances; see Note [Refused at the use]."""
    module, _, name = path.rpartition(".")

    @api_boundary
    def make_none(cls: type, *args: Any, **kwargs: Any) -> Any:
        own = (cls.__module__, cls.__qualname__) == (module, name)
        raise _refuse(path, "" if own else f", the base of {cls.__module__}.{cls.__qualname__},")

    members = {
        "__module__": module,
        "__qualname__": name,
        "__new__": make_none,
        "__class_getitem__": classmethod(_keep),
    }
    root = next((each for each in bases if type(each) is not type), object)
    return type(root)(name, bases, members)


class ShellObject:
    """An object of a shell, which is there by name only."""

    def __init__(self, path: str) -> None:
        self.__dict__["_path"] = path

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(f"{self._path} has no attribute {name!r}")
        return ShellObject(f"{self._path}.{name}")

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise _refuse(self._path)

    def __getitem__(self, item: Any) -> ShellObject:
        # Annotations have brackets.
        return self

    def __repr__(self) -> str:
        return f"<{self._path}, by name only>"


def _make_enum(path: str, members: str) -> Any:
    module, _, name = path.rpartition(".")
    pairs = (each.partition("=")[::2] for each in members.split(","))
    return enum.Enum(name, [(key, ast.literal_eval(value)) for key, value in pairs], module=module)


_MAKERS: Final[dict[str, Callable[[str], Any]]] = {
    "function": make_function,
    "nothing": make_nothing,
    "question": make_question,
    "block": make_block,
    "object": ShellObject,
    "logger": lambda path: logging.getLogger(path.rpartition(".")[0]),
    "alias": lambda path: getattr(typing, path.rpartition(".")[2], Any),
}


def make(path: str, kind: str, detail: str, find: Callable[[str], Any]) -> Any:
    """Return the object of a name; ``find`` gives the classes of torch by their paths."""
    if kind == "constant":
        return set() if detail == "{*()}" else ast.literal_eval(detail)
    if kind == "enum":
        return _make_enum(path, detail)
    if kind in ("class", "exception"):
        module, _, name = path.rpartition(".")
        own = (module + each if each.startswith(".") else each for each in detail.split(",") if each)
        named = [find(each) if "." in each else _python_class(each) for each in own]
        bases = tuple(each for each in named if isinstance(each, type))
        if kind == "class":
            return make_class(path, bases)
        return type(name, bases or (Exception,), {"__module__": module, "__qualname__": name})
    return _MAKERS[kind](path)


def _python_class(name: str) -> Any:
    return collections.OrderedDict if name == "OrderedDict" else getattr(builtins, name)
