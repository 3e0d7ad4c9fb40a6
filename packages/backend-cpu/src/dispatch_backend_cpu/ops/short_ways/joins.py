"""Short ways of products of several arrays' elements: pairs, combinations, blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from dispatch_aten.shapes import contiguous_strides

from ...arrays import Array, empty_strided
from ...fp_errors import run
from ..support.constants import NUMBERS


def _are_alike(tensors: Sequence[Array], *ndims: int) -> bool:
    """Return whether some arrays have these numbers of dimensions, one dtype that NumPy has, and elements."""
    first = tensors[0].dtype
    return first.kind in "fiub" and all(each.ndim in ndims and each.dtype is first and each.size for each in tensors)


def _cartesian_prod(tensors: Sequence[Array]) -> Any:
    if len(tensors) < 2 or not _are_alike(tensors, 1):
        return NotImplemented
    count = len(tensors)
    found = np.empty((*[each.size for each in tensors], count), tensors[0].dtype)
    for place, each in enumerate(tensors):
        found[..., place] = each.reshape(-1, *[1] * (count - 1 - place))
    return found.reshape(-1, count)


@lru_cache(maxsize=16)
def _pairs(size: int, with_replacement: bool) -> Array:
    """Return the places of all pairs, in order."""
    numbers = np.arange(size)
    before = np.less_equal if with_replacement else np.less
    return np.argwhere(before(numbers[:, None], numbers))


def _combinations(self: Array, r: int, with_replacement: bool) -> Any:
    if r != 2 or self.ndim != 1 or self.dtype.kind not in "fiub" or not self.size <= _FEW:
        return NotImplemented
    return self.take(_pairs(self.size, with_replacement))


#: The pairs of up to so many elements are kept.
_FEW: Final = 64


def _block_diag(tensors: Sequence[Array]) -> Any:
    if not tensors or not _are_alike(tensors, 0, 1, 2):
        return NotImplemented
    tensors = np.atleast_2d(*tensors) if len(tensors) > 1 else (np.atleast_2d(tensors[0]),)
    row = column = 0
    found = np.zeros((sum(len(each) for each in tensors), sum(each.shape[1] for each in tensors)), tensors[0].dtype)
    for each in tensors:
        height, width = each.shape
        found[row : row + height, column : column + width] = each
        row, column = row + height, column + width
    return found


def _kron(self: Array, other: Array) -> Any:
    if self.dtype is not other.dtype or self.dtype not in NUMBERS or self.ndim != other.ndim or not self.ndim:
        return NotImplemented
    if not (self.flags.c_contiguous and other.flags.c_contiguous and self.size and other.size):
        return NotImplemented
    wide = tuple([size for pair in zip(self.shape, other.shape, strict=True) for size in pair])
    found = empty_strided(wide, contiguous_strides(wide), self.dtype)
    first = self.reshape([each for size in self.shape for each in (size, 1)])
    second = other.reshape([each for size in other.shape for each in (1, size)])
    run(np.multiply, first, second, found)
    return found.reshape([one * two for one, two in zip(self.shape, other.shape, strict=True)])


_PRODUCT: Final = (
    "meshgrid.indexing meshgrid expand view reshape flatten.using_ints stack unsqueeze cat clone _unsafe_view"
)
_CHOSEN: Final = "arange arange.start_step le.Tensor lt.Tensor logical_and masked_select index.Tensor broadcast_tensors"

#: Operator → its short way, and the options of ``Library.short_way``.
SHORT_WAYS: Final[dict[str, tuple[Callable[..., Any], dict[str, Any]]]] = {
    "cartesian_prod": (_cartesian_prod, {"parts": tuple(_PRODUCT.split())}),
    "combinations": (_combinations, {"parts": (*_PRODUCT.split(), *_CHOSEN.split())}),
    "block_diag": (_block_diag, {"parts": ("new_zeros", "cat", "unsqueeze", "view", "reshape")}),
    "kron": (_kron, {"parts": ("reshape", "view", "mul.Tensor", "contiguous", "_unsafe_view")}),
}
