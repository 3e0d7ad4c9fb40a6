"""Memory that arrays share with objects outside the dispatcher, and its holders.

Note [Lent memory]
    Memory is lent while code outside can write to it without calling an operator: an array that a frontend handed out is
    alive, an array that it took over has other references, or its address was read. Frontends report this where arrays
    cross to the user and back; where it cannot be known, memory stays lent as long as it lives. Callers who use operators
    on raw arrays hold all of them, which is not a lending.

Note [Windows]
    A lent slice is a storage of its own, from its first element to its last, but lies in its owner's memory: bounds and
    identity are two notions. Frontends put a `Window` between the two, which NumPy does not look past when it follows the
    bases of views: bounds end at a window, identity goes on to the array behind it. A ``memoryview`` of an array is one,
    too, made in less time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, Final
from weakref import ref

from ..forks import Order, forkable
from ..lazy_text import repr_by_attributes
from . import access
from .types import Array

#: Held while an entry is added or taken out; reentrant, as objects may die wherever others are made.
_lock: Final = forkable(Order.MEMORY)


class Window:
    """Show memory of ``array`` by NumPy's array interface; see Note [Windows]."""

    __slots__ = ("__array_interface__", "__weakref__", "array")

    def __init__(self, array: Array, interface: dict[str, Any]) -> None:
        self.array = array
        self.__array_interface__ = interface

    __repr__ = repr_by_attributes("array")


#: The types of bases that are windows.
WINDOWS: Final = (Window, memoryview)


def memory_of(array: Array) -> Array:
    """Return the array that owns the memory of one like NumPy's, whose views know their ``base``; see Note [Windows]."""
    kind, base = type(array), array.base
    while base is not None:
        if type(base) is Window:
            base = base.array
        elif type(base) is memoryview and isinstance(base.obj, kind):
            base = base.obj
        elif not isinstance(base, kind):
            base = getattr(base, "base", None)  # NumPy's own functions put objects like windows between views
            if not isinstance(base, kind):
                break
        array, base = base, base.base
    return array


class Holder(ref[Any]):
    """Something that shows whether memory is held outside; as it stands, for as long as the object it refers to lives."""

    __slots__ = ("key",)

    key: Hashable

    def is_held(self) -> bool:
        """Return whether an object outside holds the memory now."""
        return self() is not None

    def is_over(self) -> bool:
        """Return whether memory that this does not hold now cannot be held by it again."""
        return True


#: Storage key → the holders of its memory. Ended entries are removed when they are asked or die.
LENT: Final[dict[Hashable, tuple[Holder, ...]]] = {}
#: Storage key → a reference to the owner of memory that keeps its size, because an array of it was given out.
PINNED: Final[dict[Hashable, ref[Any]]] = {}
#: Callbacks that run before memory is handed out: a pipeline runs its recorded calls that read or write it.
BEFORE: Final[list[Callable[[Array], None]]] = []


def write_recorded(array: Array) -> None:
    """Run the recorded steps before the memory of ``array`` is read or written outside."""
    for materialize in BEFORE:
        materialize(array)


def lend(array: Array, holder: type[Holder], held: object, key: Hashable = None) -> Hashable:
    """Mark the memory of ``array`` as lent for as long as ``holder`` reports ``held``; return the key of its storage.

    Callers that know the key give it. Memory that its own array holds is lent for as long as it lives: no entry is added.
    """
    for materialize in BEFORE:
        materialize(array)
    if key is None:
        key = access.storage_of(array)
    known = LENT.get(key)
    if known is not None:
        for each in known:
            found = each()
            if found is held or found is array:
                return key
    entry = holder(held, forget)
    entry.key = key
    with _lock:
        # A compiled front adds the first entry of a memory without the lock.
        entries = LENT.setdefault(key, (entry,))
        if entries[0] is not entry and (entries is known or all(each() is not held for each in entries)):
            # An entry that ends between these two lines is added again: it holds nothing, and goes when it is asked.
            LENT[key] = (*entries, entry)
    return key


def is_lent(key: Hashable) -> bool:
    """Return whether memory is held outside; see Note [Lent memory]."""
    for entry in LENT.get(key, ()):
        if entry.is_held():
            return True
        if entry.is_over():
            forget(entry)
    return False


def is_lent_out(array: Array) -> bool:
    """Return whether ``array`` itself was handed out: it shows the memory of one of ours."""
    return any(entry() is array for entry in LENT.get(access.storage_of(array), ()))


def forget(entry: Holder, is_over: Callable[[], bool] = sys.is_finalizing) -> None:
    """Remove an entry, as that of a holder that is dead is."""
    if is_over():  # at the interpreter's end the module's names are gone
        return
    key = entry.key
    with _lock:
        # By identity: references to living arrays would compare the arrays.
        entries = LENT.get(key)
        if entries is None:
            return
        if len(entries) == 1:
            if entries[0] is entry:
                LENT.pop(key, None)  # a compiled front may have been before
            return
        LENT[key] = tuple([each for each in entries if each is not entry])


def pin(array: Array, key: Hashable = None) -> None:
    """Mark the memory of ``array``, which is like NumPy's, as keeping its size from now on; ``key`` is its storage's."""
    if key is None:
        key = access.storage_of(array)
    if key not in PINNED:
        # See Note [Where an array dies] in `interrupts`.
        PINNED[key] = ref(memory_of(array), partial(PINNED.pop, key))


def is_pinned(memory: Array) -> bool:
    """Return whether an object outside keeps this memory (see `memory_of`) where it is."""
    return id(memory) in PINNED
