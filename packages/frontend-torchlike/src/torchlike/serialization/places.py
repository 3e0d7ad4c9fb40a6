"""Where a value lies in a structure, in words, for the errors of `save`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

#: How long a place may be; with whole keys it would grow by each level.
_LONGEST: Final = 1000


def describe_place(structure: Any, value: Any) -> str:
    """Return the keys and attributes that lead to a value, joined by dots; nothing where it is not found.

    >>> wanted = object()
    >>> describe_place({"a": [1, wanted]}, wanted)
    'a.1'
    """
    seen: set[int] = set()
    kept: list[Any] = []  # an id is that of one object as long as it lives
    left: list[tuple[Any, str]] = [(structure, "")]
    while left:
        each, place = left.pop(0)
        if each is value:
            return place
        if id(each) in seen:
            continue
        seen.add(id(each))
        kept.append(each)
        left += [(part, join(place, _show(key))) for key, part in _list_parts(each)]
    return ""


def _list_parts(value: Any) -> Iterator[tuple[object, Any]]:
    if isinstance(value, dict):
        yield from value.items()
        for key in value:
            yield "(key)", key
    elif isinstance(value, (list, tuple, set, frozenset)):
        yield from enumerate(value)
    attributes = getattr(value, "__dict__", None)
    if isinstance(attributes, dict):
        yield from attributes.items()


def _show(key: object) -> str:
    return str(key) if isinstance(key, (str, int)) else type(key).__name__  # a key may lie deep itself


def join(place: str, shown: str) -> str:
    """Return the place of a part, whose key is ``shown``, cut in the middle where it is long."""
    joined = f"{place}.{shown}" if place else shown
    half = _LONGEST // 2
    return joined if len(joined) <= _LONGEST else f"{joined[:half]}…{joined[-half:]}"
