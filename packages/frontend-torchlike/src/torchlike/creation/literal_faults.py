"""Where the fault is in nested sequences that are no numbers in rows of equal lengths, for errors."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ..tensors.tensor import Tensor

_NUMBERS: Final = (bool, int, float, complex, np.generic, Tensor)
#: Faults are looked for among so many elements only.
_MOST: Final = 1_000_000


def locate_fault(data: Any) -> str:
    """Return a sentence on the first fault in nested lists or tuples and where it is; "" where none is found.

    >>> locate_fault([[1, 2], [3, None]])
    'element [1][1] is None'
    >>> locate_fault([[1, 2], [3]])
    'row [1] has 1 element, and row [0] has 2'
    """
    if type(data) not in (list, tuple):
        return ""
    try:
        return _look(data, (), _read_sizes(data), [0])
    except Exception:  # noqa: BLE001  # an object of the user's; the first error names the fault
        return ""


def _read_sizes(data: Any) -> tuple[int, ...]:
    """Return the lengths of the first rows, which all rows beside them must have."""
    sizes: list[int] = []
    while type(data) in (list, tuple) and len(sizes) < 64:
        sizes.append(len(data))
        if not data:
            break
        data = data[0]
    return tuple(sizes)


def _look(data: Any, place: tuple[int, ...], sizes: tuple[int, ...], count: list[int]) -> str:
    count[0] += 1
    where = "".join(f"[{index}]" for index in place)
    if type(data) in (list, tuple):
        if len(place) >= len(sizes):
            return f"element {where} is a {type(data).__name__}, where a number stands before"
        size = sizes[len(place)]
        if len(data) != size:
            first = "".join("[0]" for _ in place)
            return f"row {where} has {len(data)} element{'' if len(data) == 1 else 's'}, and row {first} has {size}"
        for index, item in enumerate(data):
            found = _look(item, (*place, index), sizes, count) if count[0] < _MOST else ""
            if found:
                return found
        return ""
    if isinstance(data, (str, bytes)) or not isinstance(data, (*_NUMBERS, np.ndarray)):
        return f"element {where} is {'None' if data is None else f'{data!r:.40} of type {type(data).__name__}'}"
    if len(place) < len(sizes) and not isinstance(data, (np.ndarray, Tensor)):
        return f"element {where} is a number, where a row of {sizes[len(place)]} stands before"
    if isinstance(data, Tensor) and data.numel() != 1:
        return f"element {where} is a tensor of {data.numel()} elements: torchlike.stack joins tensors"
    return ""
