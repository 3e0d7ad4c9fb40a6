"""Caches of bounded size: plain dictionaries, which are the fastest to ask, emptied where they would grow beyond it."""

from __future__ import annotations

from typing import TypeVar

__all__ = ["keep"]

K = TypeVar("K")
V = TypeVar("V")


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
