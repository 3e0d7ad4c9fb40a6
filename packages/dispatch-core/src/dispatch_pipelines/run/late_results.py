"""Results that are computed late: those that are kept at the end of a run are computed together, by one call of the hook.

A pipeline whose device computes late hands it one graph: the kernels of the steps describe the work, and the
values that are still referred to once the steps are gone are wanted.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from weakref import ref

from dispatch_core.arrays import access, owners
from dispatch_core.arrays.late_arrays import IN_USE, Sizes

from ..record.pending import Pending
from ..record.steps import RecordedCall, to_outputs

Kept = list[ref[Pending]]


def watch_results(records: Iterable[RecordedCall]) -> Kept:
    """Return references to the results of calls, which do not keep them; none where no device computes late."""
    if not IN_USE:
        return []
    found: Kept = []
    for record in records:
        outputs = to_outputs(record[2]) if isinstance(record, tuple) else record.outputs
        found += [ref(output) for output in outputs if output is not None]
    return found


def compute_kept(results: Kept) -> None:
    """Replace the results that are still there by computed arrays. Raises the device's errors; nothing is changed then."""
    found: dict[int, tuple[Sizes, list[Pending]]] = {}
    for reference in results:
        pending = reference()
        reader: Any = None if pending is None else owners.ARRAY_TYPES.get(type(pending.value))
        if pending is not None and reader is not None and type(reader.shape) is Sizes:
            found.setdefault(id(reader.shape), (reader.shape, []))[1].append(pending)
    for sizes, kept in found.values():
        for pending, made in zip(kept, sizes.compute([each.value for each in kept]), strict=True):
            pending.value = made
            if pending.shared is not None:
                # The key was made of the array that goes now.
                pending.shared.key = access.storage_of(made)
