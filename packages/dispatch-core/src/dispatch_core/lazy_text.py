"""Text that is made when it is first read, for the docstrings of functions that are made by the thousand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Self

__all__ = ["LazyText"]


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

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        return found if name.startswith("_") else getattr(str(self), name)

    def __str__(self) -> str:
        if self._text is None:
            self._text = self._make()
        return self._text

    def __reduce_ex__(self, protocol: Any) -> Any:
        return str, (str(self),)

    def __copy__(self) -> str:
        return str(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> str:
        return str(self)


def _delegate(name: str) -> Callable[..., Any]:
    def method(self: LazyText, *args: Any, **kwargs: Any) -> Any:
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
