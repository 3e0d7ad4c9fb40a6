"""Memory that others can read and write without calling an operator.

Note [Shared memory]
    An array that the user holds too (given by ``from_numpy``, taken by ``numpy()`` or DLPack) is read and written behind the
    dispatcher's back. What is read from it may still be deferred; a write to it runs at once, because its effect is looked
    for in the array itself. Frontends say which memory that is, where arrays cross to the user and back; it is forgotten
    with the memory's owner. Whoever calls operators on raw arrays holds all of them.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final
from weakref import ref

from .. import arrays
from .graph import place_of

__all__ = ["OWNERS", "is_shared", "share"]

#: Place → a reference that takes it out of here when the memory's owner is gone.
OWNERS: Final[dict[Hashable, ref[Any]]] = {}


def share(array: Any, owner: Any) -> None:
    """Note that somebody outside holds the memory of ``array``; ``owner`` is an object that lives as long as the memory."""
    place = arrays.storage_of(array)
    if place not in OWNERS:
        OWNERS[place] = ref(owner, lambda _: OWNERS.pop(place, None))


def is_shared(value: Any) -> bool:
    """Tell whether the memory of an array or a pending value is held by somebody outside; see Note [Shared memory]."""
    return bool(OWNERS) and place_of(value) in OWNERS
