"""The tensors that a function can find elsewhere than among its arguments.

An argument that is one of them may be met as either, and which it was no recording tells: so it is a guard that the same
tensor is given again.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from types import FunctionType, MethodType, ModuleType
from typing import Any, Final

from .capture_parts import CapturePart
from .structures import is_tensor

#: How many objects are looked at.
_MOST: Final = 5000


def find_held(function: object, parts: Iterable[CapturePart] = ()) -> set[int]:
    """Return the ids of the tensors that a function, its closure, globals and object lead to.

    Tell frontends' parts of all objects on the way.

    >>> find_held(len)
    set()
    """
    found: set[int] = set()
    seen: set[int] = set()
    waiting = [function]
    for each in waiting:
        if len(seen) > _MOST:
            break
        if id(each) not in seen:
            seen.add(id(each))
            if is_tensor(each):
                found.add(id(each))
            else:
                waiting += _parts(each)
    for part in parts:
        part.hold(waiting)
    return found


def _parts(value: object) -> list[Any]:
    """Return the objects that an object refers to, of the kinds that lead to a function's tensors."""
    if isinstance(value, FunctionType):
        names, scope = value.__code__.co_names, value.__globals__
        cells = [cell.cell_contents for cell in value.__closure__ or () if _is_set(cell)]
        return [
            *cells,
            *(value.__defaults__ or ()),
            *(value.__kwdefaults__ or {}).values(),
            *(scope[name] for name in names if name in scope),
        ]
    if isinstance(value, MethodType):
        return [value.__self__, value.__func__]
    if isinstance(value, partial):
        return [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, (list, tuple, set, frozenset)):
        return list(value)
    if isinstance(value, (type, ModuleType, str, bytes, int, float)):
        return []
    return list(getattr(value, "__dict__", {}).values())


def _is_set(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018  # it raises where there is none
    except ValueError:
        return False
    return True
