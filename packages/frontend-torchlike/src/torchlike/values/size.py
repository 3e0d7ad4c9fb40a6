"""Shapes as users see them."""

from __future__ import annotations

import math
from typing import Any, overload

from ..names.spelling import spell


class Size(tuple[int, ...]):
    """A tensor's shape: a tuple of ints (source: ``torch.Size``).

    >>> Size([2, 3]), Size([2, 3]).numel(), Size([2, 3]) == (2, 3)
    (torchlike.Size([2, 3]), 6, True)
    """

    __module__ = "torchlike"  # see Note [Public paths]
    __slots__ = ()

    def numel(self) -> int:
        """Return the number of elements."""
        return math.prod(self)

    @overload  # type: ignore[override]  # slices and sums of shapes are shapes
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> Size: ...
    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return Size(found) if isinstance(index, slice) else found

    def __add__(self, other: Any) -> Any:
        return Size(tuple(self) + tuple(other)) if isinstance(other, tuple) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return Size(tuple(other) + tuple(self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, other: Any) -> Any:
        return Size(tuple(self) * other)

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return f"{spell()}.Size({list(self)})"

    def __reduce__(self) -> Any:
        return Size, (tuple(self),)


def check_dim(dim: int, rank: int) -> int:
    """Return ``dim``; raises ``IndexError`` where a tensor of ``rank`` dimensions does not have it."""
    if not -max(rank, 1) <= dim < max(rank, 1):
        low, high = -max(rank, 1), max(rank, 1) - 1
        raise IndexError(f"Dimension out of range (expected to be in range of [{low}, {high}], but got {dim})")
    if not rank:
        raise IndexError(f"dimension specified as {dim} but tensor has no dimensions")
    return dim
