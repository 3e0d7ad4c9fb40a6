"""Sizes and strides of a view of the same elements."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from dispatch_aten.errors import ShapeError

from .dims import refuse_ragged
from .meta import contiguous_strides

if TYPE_CHECKING:
    from collections.abc import Sequence


def infer_size(size: Sequence[int], numel: int) -> tuple[int, ...]:
    """Fill in the one ``-1`` of a wanted shape.

    Raises ``ShapeError`` in torch's words.

    >>> infer_size([2, -1], 6)
    (2, 3)
    """
    size = tuple(size)
    unknown: int | None = None
    known = 1
    for dim, length in enumerate(size):
        if length == -1:
            if unknown is not None:
                raise ShapeError("only one dimension can be inferred", argument="size")
            unknown = dim
        elif length < 0:
            refuse_ragged(size)
            raise ShapeError(f"invalid shape dimension {length}", argument="size")
        else:
            known *= length
    if unknown is None:
        if known != numel:
            raise ShapeError(f"shape '{list(size)}' is invalid for input of size {numel}", argument="size")
        return size
    if known == 0 and numel == 0:
        raise ShapeError(
            f"cannot reshape tensor of 0 elements into shape {list(size)} because the unspecified dimension size -1 "
            "can be any value and is ambiguous",
            argument="size",
        )
    if known == 0 or numel % known:
        raise ShapeError(f"shape '{list(size)}' is invalid for input of size {numel}", argument="size")
    return (*size[:unknown], numel // known, *size[unknown + 1 :])


def view_strides(shape: tuple[int, ...], strides: tuple[int, ...], size: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the strides with which memory laid out by ``shape`` and ``strides`` can be seen as ``size``, or None.

    The old dimensions fall into runs that lie in memory as one; each run must be filled by whole new dimensions.

    >>> view_strides((2, 3), (3, 1), (6,)), view_strides((3, 2), (1, 3), (6,))
    ((1,), None)
    """
    if prod(shape) == 0:
        return strides if shape == size else contiguous_strides(size)
    if not shape:
        return (1,) * len(size)
    result = [0] * len(size)
    new = len(size) - 1
    run = 1
    filled = 1
    base = strides[-1]
    for old in range(len(shape) - 1, -1, -1):
        run *= shape[old]
        ends = old == 0 or (shape[old - 1] != 1 and strides[old - 1] != run * base)
        if not ends:
            continue
        while new >= 0 and (filled < run or size[new] == 1):
            result[new] = filled * base
            filled *= size[new]
            new -= 1
        if filled != run:
            return None
        if old > 0:
            base = strides[old - 1]
            run = filled = 1
    return tuple(result) if new == -1 else None
