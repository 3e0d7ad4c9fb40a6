"""What arrays look like, as one object for all that look alike.

Note [Array specs]
    A meta array says of an array what a recorder needs: shape, strides, dtype, and where it begins in its memory. One meta
    array stands for all arrays that look alike, so that two look alike if their layouts are one object, and what a shape
    rule has said can be kept under its arguments' layouts. As many are kept as may be in use at one time; where two
    objects come to stand for one look, a rule is only asked once more.
"""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import suppress
from functools import partial
from typing import Any, Final
from weakref import ref

from ..arrays import access, owners
from ..caches import keep
from ..keys.table import DispatchKey

__all__ = ["ARRAY_SPECS", "UNKNOWN", "intern_spec", "read_spec"]

#: Stands for the layout of an array that no meta array can describe: its dtype is none of torch's.
UNKNOWN: Final = object()

_KEPT: Final = 4096
_known: Final[dict[tuple[Any, ...], Any]] = {}
#: The type of an array and what its backend says of its look → its layout.
_looks: Final[dict[tuple[type, Hashable], Any]] = {}


def intern_spec(meta: Any) -> Any:
    """Return the meta array that stands for all that look like ``meta``; for a list or a tuple, those of its elements."""
    if isinstance(meta, (list, tuple)):
        return tuple(map(intern_spec, meta))
    if meta is None:
        return None
    look = access.shape(meta), access.strides(meta), access.dtype(meta), access.storage_offset(meta)
    return keep(_known, look, meta, _KEPT)


#: id of a living array → a reference that takes it out of here when the array is gone, its layout, and its place.
ARRAY_SPECS: Final[dict[int, tuple[ref[Any], Any, Hashable]]] = {}


def read_spec(array: Any) -> Any:
    """Return the layout of a backend's array, as if it began where its memory does; ``UNKNOWN`` where there is none.

    It is remembered as long as the array lives, where that can be told; see Note [Where an array dies] in `interrupts`.
    """
    key = id(array)
    known = ARRAY_SPECS.get(key)
    if known is not None:
        return known[1]
    found = _read(array)
    with suppress(TypeError):
        ARRAY_SPECS[key] = ref(array, partial(ARRAY_SPECS.pop, key)), found, access.storage_of(array)
    return found


def _read(array: Any) -> Any:
    reader = owners.ARRAY_TYPES.get(type(array))
    read = None if reader is None else reader.layout
    if reader is None or read is None:
        return _found(array)
    try:
        # Not the array's own type, which may be a subclass that goes away.
        look = reader.type, read(array)
        known = _looks.get(look)
    except Exception as error:  # noqa: BLE001  # see Note [Readers belong to vendors] in `arrays`
        fault = access.unread(reader, "layout", error)
        raise fault from fault.__cause__
    if known is None:
        known = keep(_looks, look, _found(array), _KEPT)
    return known


def _found(array: Any) -> Any:
    look = access.shape(array), access.strides(array), access.dtype(array)
    known = _known.get((*look, 0))
    if known is not None:
        return known
    empty = owners.KEY_TYPES[DispatchKey.Meta][0].empty
    assert empty is not None
    try:
        described = empty(*look)
    except TypeError:
        return UNKNOWN
    return keep(_known, (*look, 0), described, _KEPT)
