"""Objects of a program's classes in files.

Note [Objects of classes]
    A whole network, or settings of a class of its own, is written as the name of its class and its attributes. Unless the
    program trusts the file, by ``weights_only=False``, it is read again only where the program has allowed that very class,
    by ``add_safe_globals`` or ``safe_globals``, as torch has it: a file alone never decides which class is made.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from .refusals import shorten

_allowed: Final[list[Any]] = []


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Allow `load` to make objects of classes (source: ``torch.serialization.add_safe_globals``)."""
    _allowed.extend(safe_globals)


def get_safe_globals() -> list[Any]:
    """Return the classes that `load` may make objects of."""
    return list(_allowed)


def clear_safe_globals() -> None:
    """Allow no class any more."""
    _allowed.clear()


@contextmanager
def safe_globals(safe_globals: list[Any]) -> Iterator[None]:
    """Allow `load` to make objects of classes within a block (source: ``torch.serialization.safe_globals``)."""
    before = list(_allowed)
    _allowed.extend(safe_globals)
    try:
        yield
    finally:
        _allowed[:] = before


def _name(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}"


def list_allowed() -> dict[str, Any]:
    """Return the allowed classes and functions by their names."""
    found: dict[str, Any] = {}
    for each in _allowed:
        value, name = each if isinstance(each, tuple) else (each, None)
        found[name or _name(value)] = value
    return found


def is_allowed(value: Any) -> bool:
    """Return whether this very class or function is allowed."""
    return any(value is (each[0] if isinstance(each, tuple) else each) for each in _allowed)


def set_attributes(value: Any, state: Any) -> None:
    """Give an object of an allowed class the state that a pickle has for it."""
    if hasattr(value, "__setstate__"):
        value.__setstate__(state)
        return
    attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    vars(value).update(attributes or {})
    for name, each in (slots or {}).items():
        setattr(value, name, each)


def take_apart(value: Any) -> tuple[str, Mapping[str, Any]] | None:
    """Return the name of an object's class and its attributes, None where it has none or is a function, class or module."""
    kind = type(value)
    if callable(value) and (inspect.isroutine(value) or isinstance(value, type)):
        return None
    state = value.__getstate__() if not inspect.ismodule(value) else None
    return (_name(kind), state) if isinstance(state, dict) and hasattr(value, "__dict__") else None


def make_bare(name: Any, classes: Mapping[str, Any]) -> Any:
    """Return an object of an allowed class without attributes; ``ValueError`` for any other class."""
    kind: Any = classes.get(name)
    if kind is None:
        shown = shorten(name)
        raise ValueError(
            f"it holds an object of the class {shown}, which is not allowed: allow it by "
            f"torch.serialization.add_safe_globals([{shown.rpartition('.')[2]}]), or save a state_dict"
        )
    return kind.__new__(kind)
