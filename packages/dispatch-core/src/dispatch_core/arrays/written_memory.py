"""The part of a memory that calls have written, by which a call is known to overwrite all of it."""

from __future__ import annotations

import math
from typing import Any, Final

from .._record import Record
from . import access

#: The operators that write all elements of their first argument, and read none of it.
OVERWRITES: Final = frozenset(
    f"aten::{name}" for name in "copy_ fill_.Scalar fill_.Tensor normal_ uniform_ zero_".split()
)


class Written(Record):
    """The call that wrote a memory last: its number, index and stream; and the elements written since a clean wait."""

    number: int
    index: int
    stream: Any
    start: int
    end: float
    dtype: Any


def write(array: Any, number: int, index: int, stream: Any, before: Written | None) -> Written:
    """Return the record of a write to an array, in whose memory a call has written ``before``."""
    start, end, dtype, _ = _read_extent(array)
    if before is not None:
        same = before.dtype == dtype
        start, end = (min(start, before.start), max(end, before.end)) if same else (0, math.inf)
    return Written(number, index, stream, start, end, dtype)


def is_covered(written: Written, array: Any) -> bool:
    """Return whether an array is all that was written."""
    start, end, dtype, is_dense = _read_extent(array)
    return is_dense and dtype == written.dtype and start <= written.start and end >= written.end


def _read_extent(array: Any) -> tuple[int, float, Any, bool]:
    """Return the first element of an array in its memory, the last but one, its dtype, and whether none is left out."""
    sizes = access.sizes_of(array) if access.is_described(array) else (None,)
    if None in sizes:
        return 0, math.inf, None, False
    count = math.prod(size or 0 for size in sizes)
    start = access.storage_offset(array)
    reach = sum(((size or 1) - 1) * step for size, step in zip(sizes, access.strides(array), strict=True)) + 1
    return start, start + (reach if count else 0), access.dtype(array), not count or reach == count
