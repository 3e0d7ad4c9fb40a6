"""Caches of bounded size, emptied where they would grow beyond it, and tables whose values are made at first use.

Both are dictionaries, which are the fastest to ask.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, ItemsView, Iterable, Iterator, KeysView, ValuesView
from typing import Any, Final, TypeVar

__all__ = ["LazyTable", "is_lasting", "keep"]

K = TypeVar("K")
V = TypeVar("V")

#: CPython's flag of a class that may go away.
_ON_HEAP: Final = 1 << 9


def is_lasting(cls: type) -> bool:
    """Return whether a class lives as long as its module, so that keeping it keeps nothing else alive.

    >>> is_lasting(int), is_lasting(LazyTable), is_lasting(type("Local", (), {}))
    (True, True, False)
    """
    if not cls.__flags__ & _ON_HEAP:
        return True
    name = cls.__module__  # may be anything
    module = sys.modules.get(name) if isinstance(name, str) else None
    # A module's own look-up of names may import others.
    return getattr(module, "__dict__", {}).get(cls.__qualname__) is cls


def keep(cache: dict[K, V], key: K, value: V, limit: int) -> V:
    """Return the value of ``key`` in a cache, from now on ``value`` where it had none; a full cache is emptied first.

    So a program whose shapes change with every call takes a bounded amount of memory, and one that repeats itself never
    fills the cache and pays for no order of use. Of several threads that keep a value under one key all get the same.

    >>> squares = {}
    >>> [keep(squares, number, number**2, 2) for number in (1, 2, 3)], squares
    ([1, 4, 9], {3: 9})
    """
    if len(cache) >= limit and key not in cache:
        cache.clear()
    return cache.setdefault(key, value)


class LazyTable(dict[str, V]):
    """A table whose values are made when they are first looked up; a value that was made is found as in any dictionary.

    ``make(key)`` returns a value, or raises ``KeyError`` for a key that the table lacks. ``keys`` are all of them, or a
    function that lists them, for tables that learn of a key by making its value. Of several threads that look a value up
    all get the same.

    >>> table = LazyTable(lambda key: print("making", key) or key.upper(), ["a", "b"])
    >>> table["a"], table["a"], "b" in table, list(table), table.get("c")
    making a
    ('A', 'A', True, ['a', 'b'], None)
    """

    __slots__ = ("_keys", "_make")

    def __init__(self, make: Callable[[str], V], keys: Collection[str] | Callable[[], Iterable[str]]) -> None:
        super().__init__()
        self._make, self._keys = make, keys

    def __missing__(self, key: str) -> V:
        if not callable(self._keys) and key not in self._keys:
            raise KeyError(key)
        return self.setdefault(key, self._make(key))

    def __contains__(self, key: object) -> bool:
        if not callable(self._keys):
            return key in self._keys
        try:
            self[key]  # type: ignore[index]  # of any other type, there is none
        except KeyError:
            return False
        return True

    def get(self, key: str, default: object = None) -> Any:
        """Return the value of a key, or ``default``."""
        try:
            return self[key]
        except KeyError:
            return default

    def keys(self) -> KeysView[str]:  # type: ignore[override]
        """Return all keys; no value is made, unless the table learns of keys by their values."""
        return KeysView(self)

    def values(self) -> ValuesView[V]:  # type: ignore[override]
        """Return all values, making those that are not made."""
        return ValuesView(self)

    def items(self) -> ItemsView[str, V]:  # type: ignore[override]
        """Return all pairs, making the values that are not made."""
        return ItemsView(self)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys() if callable(self._keys) else self._keys)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"<LazyTable of {len(self)}, {super().__len__()} made>"

    __hash__ = None

    def __eq__(self, other: object) -> bool:
        return self is other

    def __or__(self, other: Any) -> Any:
        return dict(self.items()) | dict(other.items())

    def __ror__(self, other: Any) -> Any:
        return dict(other.items()) | dict(self.items())
