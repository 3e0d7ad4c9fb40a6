"""Attributes of a class that are made when they are first used, and are as if they had stood there from the beginning."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


class LazyAttribute:
    """Stands in a class for an attribute, special methods included, until the first access puts the attribute there.

    >>> class Number(int): ...
    >>> set_lazily(Number, {"double": lambda: lambda self: 2 * self})
    >>> Number(4).double(), type(vars(Number)["double"]).__name__
    (8, 'function')
    """

    __slots__ = ("_make", "_name", "_owner")

    def __init__(self, owner: type, name: str, make: Callable[[], Any]) -> None:
        self._owner, self._name, self._make = owner, name, make

    def _put(self) -> Any:
        found = vars(self._owner).get(self._name, self)
        if found is self:
            found = self._make()
            setattr(self._owner, self._name, found)
        return found

    @property
    def value(self) -> Any:
        """The attribute, put into the class if it was not there."""
        return self._put()

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        found = self._put()
        bind = getattr(type(found), "__get__", None)
        return found if bind is None else bind(found, instance, owner)


class LazyProperty(LazyAttribute):
    """Stands in a class for a property; a program can no more assign to it than to the property itself."""

    __slots__ = ()

    def __set__(self, instance: Any, value: Any) -> None:
        self._put().__set__(instance, value)

    def __delete__(self, instance: Any) -> None:
        self._put().__delete__(instance)


def set_lazily(
    owner: type, makers: Mapping[str, Callable[[], Any]], stand_in: type[LazyAttribute] = LazyAttribute
) -> None:
    """Set attributes of a class by the functions that make them, none of which is called yet."""
    for name, make in makers.items():
        setattr(owner, name, stand_in(owner, name, make))
