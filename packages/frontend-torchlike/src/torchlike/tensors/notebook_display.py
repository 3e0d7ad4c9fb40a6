"""Tensors as notebooks show them: their kind in one line, and their elements as a table.

The elements are written as ``repr`` writes them, with the options of `set_printoptions`. A small matrix is a table
with the indices of its rows and columns, edges only where it is larger; anything else is shown as its text.
"""

from __future__ import annotations

import math
from typing import Any, Final

from dispatch_core.display import Column, DataTable, show_number_of, show_size
from dispatch_core.keys import LAYOUTS
from dispatch_devkit.fragments import to_block, to_fragment

from ..names.lazy_names import Tensor
from .printing import format_tensor, write_matrix

#: Rows and columns of a table that are shown; of more the edges are.
_ROWS, _COLUMNS = 12, 12
_GAP: Final = "…"


def to_html(tensor: Tensor) -> str | None:
    """Return a tensor as a piece of HTML that needs nothing else; None where its class has a ``repr`` of its own.

    Values that are pending are computed, as for ``repr``, which notebooks call, too.
    """
    if type(tensor).__repr__.__module__.partition(".")[0] not in ("torchlike", "torch"):
        return None
    if tensor._dispatch_mask & LAYOUTS:
        return None
    kind = type(tensor).__name__
    shape = tuple(tensor.shape)
    facts = [f"{list(shape)}", str(tensor.dtype), str(tensor.device)]
    facts.append(show_number_of("element", tensor.numel()))
    if not tensor.is_meta:
        facts.append(show_size(tensor.numel() * tensor.element_size()))
    if tensor.grad_fn is not None:
        facts.append(f"grad_fn={tensor.grad_fn.name()}")
    elif tensor.requires_grad:
        facts.append("requires_grad")
    if tensor.is_meta or not tensor.numel():
        # There are no elements, or they were never made.
        return to_fragment(kind, facts)
    if len(shape) in (1, 2):
        return to_fragment(kind, facts, [_to_table(tensor, shape).html()])
    return to_fragment(kind, facts, [to_block(format_tensor(tensor))])


def _to_table(tensor: Tensor, shape: tuple[int, ...]) -> DataTable:
    rows, columns = (shape[0], shape[1]) if len(shape) == 2 else (1, shape[0])
    row_numbers, column_numbers = _choose(rows, _ROWS), _choose(columns, _COLUMNS)
    cells = write_matrix(tensor, [each for each in row_numbers if each is not None], column_numbers)
    lines = iter(cells)
    found: list[list[Any]] = []
    for number in row_numbers:
        if number is None:
            found.append([_GAP] * (len(column_numbers) + 1))
        else:
            values = iter(next(lines))
            found.append([str(number), *(_GAP if each is None else next(values) for each in column_numbers)])
    titles = ["", *(_GAP if each is None else str(each) for each in column_numbers)]
    # A vector has no rows to number.
    first = 0 if len(shape) == 2 else 1
    return DataTable([Column(title, is_number=True) for title in titles[first:]], [row[first:] for row in found])


def _choose(size: int, most: int) -> list[int | None]:
    """Return the indices that are shown, with None for those that are left out.

    >>> _choose(3, 4), _choose(9, 4)
    ([0, 1, 2], [0, 1, None, 7, 8])
    """
    if size <= most:
        return list(range(size))
    edge = math.ceil(most / 2)
    return [*range(edge), None, *range(size - edge, size)]
