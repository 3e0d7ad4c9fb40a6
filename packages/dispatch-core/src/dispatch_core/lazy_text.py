"""Text that is made when it is read: docstrings of functions that are made by the thousand, and reprs by attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from enum import Enum
from types import FunctionType
from typing import Any, Final, Self

__all__ = ["LazyText", "fit_line", "join_names", "repr_by_attributes"]

#: The characters of a repr: it shares its line with others.
WIDTH: Final = 120
_LONGEST_VALUE: Final = 40
_MOST_ITEMS: Final = 8
_PLAIN: Final = frozenset({type(None), bool, int, float, complex, str, bytes})


class LazyText(str):
    """A string whose characters ``make`` returns when they are first asked for.

    Every method of strings answers for those characters; code in C that reads a string's memory without asking its type
    finds an empty one. A pickle and a copy are plain strings.

    >>> text = LazyText(lambda: print("made") or "Add two tensors.")
    >>> text.upper()
    made
    'ADD TWO TENSORS.'
    >>> len(text), text == "Add two tensors.", str(text)
    (16, True, 'Add two tensors.')
    """

    __slots__ = ("_make", "_text")

    _make: Callable[[], str]
    _text: str | None

    def __new__(cls, make: Callable[[], str]) -> Self:
        """Return the text that ``make`` will return."""
        self = super().__new__(cls)
        self._make = make
        self._text = None
        return self

    def __getattribute__(self, name: str) -> object:
        found = super().__getattribute__(name)
        return found if name.startswith("_") else getattr(str(self), name)

    def __str__(self) -> str:
        if self._text is None:
            self._text = self._make()
        return self._text

    def __reduce_ex__(self, protocol: object) -> tuple[object, ...]:
        return str, (str(self),)

    def __copy__(self) -> str:
        return str(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> str:
        return str(self)


def _delegate(name: str) -> Callable[..., Any]:
    def method(self: LazyText, *args: object, **kwargs: object) -> object:
        return getattr(str(self), name)(*args, **kwargs)

    method.__name__, method.__doc__ = name, getattr(str, name).__doc__
    return method


#: The special methods that ask for characters, which are looked up in the class; of the others, those of objects stay.
_SPECIAL: Final = (
    "__add__ __contains__ __eq__ __format__ __ge__ __getitem__ __gt__ __hash__ __iter__ __le__ __len__ __lt__ __mod__"
    " __mul__ __ne__ __repr__ __rmod__ __rmul__"
).split()

for _name in _SPECIAL:
    setattr(LazyText, _name, _delegate(_name))
LazyText.__radd__ = lambda self, other: other + str(self)  # type: ignore[attr-defined]


def fit_line(text: str, width: int = WIDTH) -> str:
    """Return a text on one line of at most ``width`` characters; an ellipsis before its last one marks the cut.

    >>> fit_line("Text(a)"), fit_line("Text(abcdefghij)", 10)
    ('Text(a)', 'Text(abc…)')
    """
    line = " ".join(text.split())
    return line if len(line) <= width else f"{line[: width - 2]}…{line[-1]}"


def join_names(names: Iterable[str], width: int = 80) -> str:
    """Return names with commas between them, and the number of those that ``width`` characters do not hold.

    >>> join_names(["aten", "prims", "mine"]), join_names(["aten", "prims", "mine"], 12), join_names([])
    ('aten, prims, mine', 'aten, prims and 1 more', 'none')
    """
    found = list(names)
    shown, length = 0, 0
    for name in found:
        length += len(name) + 2
        if shown and length > width + 2:
            break
        shown += 1
    more = f" and {len(found) - shown} more" if shown < len(found) else ""
    return f"{', '.join(found[:shown])}{more}" or "none"


def repr_by_attributes(*names: str, **computed: Callable[[Any], Any]) -> Callable[[Any], str]:
    """Return a ``__repr__`` that shows the class and these attributes on one line; no method of a value is called.

    Without names it shows the public attributes that are plain values. Private ones that are named lose their underscore,
    and values of ``computed`` are functions of the object. Other values are named by their class, and an attribute that is
    not set yet is left out.

    >>> class Point:
    ...     def __init__(self, x, y):
    ...         self.x, self.y, self.owner = x, y, object()
    ...     __repr__ = repr_by_attributes()
    >>> class Named(Point):
    ...     __repr__ = repr_by_attributes("owner", total=lambda point: point.x + point.y)
    >>> Point(1, "a"), Named(1, 2)
    (Point(x=1, y='a'), Named(owner=object, total=3))
    """

    def __repr__(self: object) -> str:  # noqa: N807  # it becomes a class's
        chosen = names if names or computed else _list_plain(self)
        facts = {name.lstrip("_"): getattr(self, name) for name in chosen if hasattr(self, name)}
        for name, compute in computed.items():
            with suppress(AttributeError, LookupError):  # an empty one, or one that its constructor has left
                facts[name] = compute(self)
        spelled = ", ".join(f"{name}={_spell(value)}" for name, value in facts.items())
        return fit_line(f"{type(self).__qualname__}({spelled})")

    return __repr__


def _list_plain(holder: object) -> list[str]:
    held = getattr(holder, "__dict__", {})
    return [name for name, value in held.items() if not name.startswith("_") and _is_plain(value)]


def _is_plain(value: object) -> bool:
    if type(value) in (list, tuple):
        return len(value) <= _MOST_ITEMS and all(type(item) in _PLAIN for item in value)  # type: ignore[arg-type,attr-defined]
    return type(value) in _PLAIN or isinstance(value, Enum)


def _spell(value: Any) -> str:
    if _is_plain(value):
        short = value[:_LONGEST_VALUE] if isinstance(value, str | bytes) else value
        text = str(short) if isinstance(value, Enum) else repr(short)
        return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 2]}…{text[-1]}"
    if type(value) in (list, tuple, dict):
        return f"{type(value).__name__} of {len(value)}"
    return str((value if isinstance(value, type | FunctionType) else type(value)).__qualname__)
