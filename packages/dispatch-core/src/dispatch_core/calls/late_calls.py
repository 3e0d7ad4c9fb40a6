"""Calls on arrays that are computed late: their needs are computed first (Note [Sizes that are not known])."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from ..arrays.access import to_data
from ..arrays.late_arrays import CALLED, Sizes, count_computed, find_computed, keep_waiting
from ..arrays.owners import ARRAY_TYPES
from ..keys.table import DispatchKey

if TYPE_CHECKING:
    from ..arrays.types import Array
    from ..operators.entry import OperatorEntry
    from ..operators.resolution import Resolution
    from .traits import Runner

#: The tag of operators that take one array with sizes that are not known.
UNKNOWN_OK: Final = "unknown_ok"


def compute_first(resolution: Resolution, run: Runner) -> Runner:
    """Return ``run`` with the arrays computed first whose sizes it needs."""
    entry, key = resolution.entry, resolution.key
    takes_unknown = key is not None and takes_one_unknown(entry, key)
    makes_arrays = key is not None and (key.target or key).owns_arrays

    def call(*values: object, **keywords: object) -> object:
        settled, has_arrays = settle(entry, values, takes_unknown=takes_unknown)
        token = CALLED.set(entry.name)
        try:
            found = run(*settled, **keywords)
        finally:
            CALLED.reset(token)
        if makes_arrays and has_arrays:
            for array, reader in _late_arrays((found,)):
                keep_waiting(array, reader)
        return found

    return call


def takes_one_unknown(entry: OperatorEntry, key: DispatchKey) -> bool:
    """Return whether the kernel under a key takes an array with sizes that are not known.

    Histories and recorders look at shapes, so under Autograd and Pipeline no kernel does.
    """
    return UNKNOWN_OK in entry.tags and key is not DispatchKey.Pipeline and key.kind != "autograd"


def settle(entry: OperatorEntry, values: tuple[Any, ...], *, takes_unknown: bool) -> tuple[tuple[Any, ...], bool]:
    """Return the arguments with computed arrays instead of late ones, and whether there are late arrays at all.

    A tensor holds the computed array from then on.
    """
    late = list(_late_arrays(values))
    if not late:
        return values, False
    known = {id(array): find_computed(array) for array, _ in late}
    unknown = {id(array): array for array, reader in late if known[id(array)] is None and None in reader.ask(array)}
    wanted = unknown if unknown and not (takes_unknown and len(_with_dimensions(late)) == 1) else {}
    if wanted:
        count_computed(entry.name, len(wanted))
    elif _reads(entry):
        wanted = {id(array): array for array, _ in late if known[id(array)] is None}
    if wanted:
        known |= zip(wanted, late[0][1].compute(list(wanted.values())), strict=True)
    return tuple([_replace(value, known) for value in values]), True


def _reads(entry: OperatorEntry) -> bool:
    """Return whether an operator takes values to the host: its array is computed, and stays so for the next read."""
    signature = entry.signature
    return signature is not None and any(result.kind == "other" for result in signature.results)


def _with_dimensions(late: list[tuple[Any, Sizes]]) -> set[int]:
    """Return the ids of the arrays that have dimensions: those without represent numbers."""
    return {id(array) for array, reader in late if reader.ask(array)}


def _late_arrays(values: tuple[Any, ...]) -> Iterator[tuple[Any, Sizes]]:
    """Yield the arrays that are computed late, in tensors, and in lists of them, with the readers of their sizes."""
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _late_arrays(tuple(value))
            continue
        array = to_data(value)
        known = ARRAY_TYPES.get(type(array))
        if known is not None and type(known.shape) is Sizes:
            yield array, known.shape


def _replace(value: Any, known: dict[int, Array]) -> object:
    """Return an argument with computed arrays; a tensor is the same, and holds another array."""
    if isinstance(value, (list, tuple)):
        return type(value)([_replace(item, known) for item in value])
    array = to_data(value)
    found = known.get(id(array))
    if found is None or found is array:
        return value
    if array is value:
        return found
    value._dispatch_data = found
    return value
