"""Reductions at the end of a chain that run tile by tile and still give the bits of the whole array's.

Note [Sums by halves]
    NumPy sums a contiguous row by halves: below a few elements it adds them up, above it halves the row, at a multiple
    of eight, and adds the sums of both halves. So the sum of a whole array is a tree whose inner nodes are single
    additions, and a tile that is a subtree can be summed while it is in the cache. Before version 2.3, NumPy sums a row that
    is longer than its buffer buffer by buffer instead; such a row is summed as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from dispatch_aten.shapes import contiguous_strides
from dispatch_core.planning import Node, Value

from ..arrays import numpy_dtype
from ..kernels import KERNELS
from ..ops.support.reduce_ufuncs import MAX, MIN, SUM
from ..ops.support.tape import Symbol

#: How many elements of a row NumPy sums by halves; see Note [Sums by halves].
LONGEST_ROW: Final = math.inf if np.lib.NumpyVersion(np.__version__) >= "2.3.0" else 8192


@dataclass(frozen=True, slots=True, eq=False)
class FoldSpec:
    """A reduction of a chain's last value: over everything, or over the last dimension."""

    symbol: Symbol
    #: The value that is reduced, and the result.
    value: Value
    result: Value
    fold: Any
    over_all: bool
    #: The divisor of the result, for means.
    divisor: Any = None


#: Operator → the ufunc's fold, whether it can be over everything, whether it is a mean.
_FOLDS: Final[dict[str, tuple[Any, bool, bool]]] = {
    "sum": (SUM, True, False),
    "mean": (SUM, True, True),
    "sum.dim_IntList": (SUM, False, False),
    "mean.dim": (SUM, False, True),
    "amax": (MAX, False, False),
    "amin": (MIN, False, False),
}


def match_fold(node: Node, now: Mapping[Value, Symbol]) -> FoldSpec | None:
    """Return the reduction that a node is, where it reduces one of the values in ``now`` in a way that can be tiled."""
    name = node.name.removeprefix("aten::")
    row = _FOLDS.get(name)
    if row is None or "reduction" not in node.tags or node.kernel is not KERNELS.get(name):
        return None
    fold, over_all, is_mean = row
    value, *options = node.arguments
    result = node.outputs[0]
    if not isinstance(value, Value) or value not in now or result is None or result.dtype != value.dtype:
        return None
    if numpy_dtype(value.dtype).char not in "fd" or value.strides != contiguous_strides(value.shape) or not value.shape:
        return None
    if any(
        parameter.name == "dtype" and given is not None
        for parameter, given in zip(node.parameters, node.arguments, strict=True)
    ):
        return None
    if not over_all:
        dims = options[0]
        dims = (dims,) if isinstance(dims, int) else dims
        if not dims or len(dims) != 1 or dims[0] not in (-1, len(value.shape) - 1) or value.shape[-1] == 1:
            return None
    count = math.prod(value.shape) if over_all else value.shape[-1]
    divisor = numpy_dtype(value.dtype).type(count) if is_mean else None
    return FoldSpec(now[value], value, result, fold, over_all, divisor)


#: The start and stop of a leaf, or two subtrees.
Tree = tuple[Any, Any]


def halve(start: int, stop: int, most: int) -> Tree:
    """Cut a row as NumPy does until no piece has more than ``most`` elements; see Note [Sums by halves].

    >>> halve(0, 40, 20)
    ((0, 16), ((16, 24), (24, 40)))
    """
    size = stop - start
    if size <= most:
        return start, stop
    half = start + size // 2 - size // 2 % 8
    return halve(start, half, most), halve(half, stop, most)


def leaves(tree: Tree) -> list[tuple[int, int]]:
    """Return the pieces in order."""
    first, second = tree
    return [tree] if isinstance(first, int) else leaves(first) + leaves(second)


def add_up(tree: Tree, sums: list[Any]) -> Any:
    """Add the sums of the pieces, given in reverse, in the order of the tree."""
    first, second = tree
    if isinstance(first, int):
        return sums.pop()
    left = add_up(first, sums)
    return left + add_up(second, sums)
