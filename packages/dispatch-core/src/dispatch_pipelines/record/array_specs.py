"""Array specs: the description of an array, as one object for all arrays that look alike.

Note [Array specs]
    A meta array tells a recorder of an array shape, strides, dtype, and where it begins in its memory. One meta array
    represents all arrays that look alike, so that two look alike if their specs are one object, and the answers of a shape
    rule can be kept under its arguments' specs. As many are kept as may be in use at one time; where two objects come to
    represent one look, a rule is only asked once more.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from typing import Any, Final
from weakref import ref

from dispatch_core.arrays import access, owners
from dispatch_core.caches import keep
from dispatch_core.keys.table import DispatchKey

#: Represents the spec of an array that no meta array can describe: its dtype is none of torch's.
UNKNOWN: Final = object()

_KEPT: Final = 4096
_known: Final[dict[tuple[Any, ...], Any]] = {}
#: The type of an array and the look that its backend reads → its spec.
_looks: Final[dict[tuple[type, Hashable], Any]] = {}


def intern_spec(meta: object) -> Any:
    """Return the meta array that represents all that look like ``meta``; for a list or a tuple, those of its elements."""
    if isinstance(meta, (list, tuple)):
        return tuple(map(intern_spec, meta))
    if meta is None:
        return None
    look = access.shape(meta), access.strides(meta), access.dtype(meta), access.storage_offset(meta)
    return keep(_known, look, meta, _KEPT)


def row_major_spec(meta: object) -> Any:
    """Return the spec like another of an array that has its elements in row-major order at the beginning of its memory.

    None stays: a result that the call leaves out has no array.
    """
    if meta is None:
        return None
    sizes = access.shape(meta)
    return intern_spec(_make_meta(sizes, access.row_major_strides(sizes), access.dtype(meta)))


def respaced_spec(meta: object, strides: tuple[int, ...]) -> Any:
    """Return the spec like another of an array with other strides at the beginning of its memory."""
    return intern_spec(_make_meta(access.shape(meta), strides, access.dtype(meta)))


#: id of a living array → a reference that removes the entry when the array is gone, its spec, and its storage key.
ARRAY_SPECS: Final[dict[int, tuple[ref[Any], Any, Hashable]]] = {}


def read_spec(array: object) -> Any:
    """Return the spec of a backend's array, as if it began where its memory does; ``UNKNOWN`` where there is none.

    It is kept as long as the array lives, where weak references to it exist; see Note [Where an array dies] in
    `interrupts`.
    """
    key = id(array)
    known = ARRAY_SPECS.get(key)
    if known is not None:
        return known[1]
    return keep_spec(array)[1]


def keep_spec(array: object) -> tuple[Any, Any, Hashable]:
    """Return the entry of `ARRAY_SPECS` for an array that has none yet, and keep it where weak references to it exist."""
    reader = owners.ARRAY_TYPES.get(type(array))
    read = None if reader is None else reader.layout
    if reader is None or read is None:
        found = _describe(array)
    else:
        try:
            # Not the array's own type, which may be a subclass that goes away.
            look = reader.type, read(array)
            found = _looks.get(look)
        except Exception as error:  # noqa: BLE001  # see Note [Readers belong to vendors] in `arrays`
            fault = access.unread(reader, "layout", error)
            raise fault from fault.__cause__
        if found is None:
            found = keep(_looks, look, _describe(array), _KEPT)
    key = id(array)
    try:
        entry = ARRAY_SPECS[key] = ref(array, partial(ARRAY_SPECS.pop, key)), found, access.storage_of(array)
    except TypeError:
        return None, found, access.storage_of(array)
    return entry


def _describe(array: object) -> object:
    if not access.is_described(array):
        return UNKNOWN
    look = access.shape(array), access.strides(array), access.dtype(array)
    known = _known.get((*look, 0))
    if known is not None:
        return known
    try:
        meta = _make_meta(*look)
    except TypeError:
        return UNKNOWN
    return keep(_known, (*look, 0), meta, _KEPT)


def _make_meta(shape: tuple[int, ...], strides: tuple[int, ...], dtype: object) -> object:
    make = owners.KEY_TYPES[DispatchKey.Meta][0].empty
    assert make is not None
    return make(shape, strides, dtype)
