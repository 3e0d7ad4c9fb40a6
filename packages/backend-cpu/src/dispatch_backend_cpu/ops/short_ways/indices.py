"""Short ways of indexing: composites whose answer one or two calls of NumPy give."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from dispatch_aten.dtypes import DEFAULT_DTYPE, ScalarType

from ...arrays import NUMPY_DTYPES, Array, as_array, is_row_major
from ...fp_errors import quietly
from ..pointwise.numpy_formulas import lerp, select
from ..reductions import ordering
from ..reductions.distinct import runs_of
from ..reductions.ordering import as_rows, has_nan
from ..support.constants import NUMBERS, PLAIN, constant, number
from ..support.places import locate, read_at

_INT64: Final = np.dtype(np.int64)
_SEARCH: Final = ordering.KERNELS["searchsorted.Tensor"]


def _one_hot(self: Array, num_classes: int) -> Any:
    if self.dtype is not _INT64 or not self.size or self.item(self.argmin()) < 0:
        return NotImplemented
    most = self.item(self.argmax())
    count = most + 1 if num_classes == -1 else num_classes
    if count <= most:
        return NotImplemented
    found = np.zeros((*self.shape, count), _INT64)
    found.reshape(-1)[self.reshape(-1) + np.arange(0, found.size, count)] = 1
    return found


def _take_along_dim(self: Array, indices: Array, dim: int | None) -> Any:
    if dim is None or indices.dtype is not _INT64 or not indices.size or not self.size:
        return NotImplemented
    if self.ndim != indices.ndim or not -self.ndim <= dim < self.ndim or not is_row_major(indices):
        return NotImplemented
    axis = dim % self.ndim
    size = self.shape[axis]
    if self.shape[:axis] + self.shape[axis + 1 :] != indices.shape[:axis] + indices.shape[axis + 1 :]:
        return NotImplemented
    low = indices.item(indices.argmin())
    if low < -size or indices.item(indices.argmax()) >= size:
        return NotImplemented
    found = read_at(*locate(self, indices if low >= 0 else indices % size, axis, indices.shape))
    return np.ascontiguousarray(found)


def _unique_consecutive(self: Array, return_inverse: bool, return_counts: bool, dim: int | None) -> Any:
    if dim is not None or not self.size:
        return NotImplemented
    return runs_of(self.reshape(-1), None, self.shape, return_inverse, return_counts)


def _diag(self: Array, diagonal: int) -> Any:
    return self.diagonal(diagonal).copy() if self.ndim == 2 else NotImplemented


def _choose(condition: Array, self: Array, filler: Any, *, other: bool) -> Any:
    """Choose between an array and a number, which the array's dtype holds."""
    found = constant(filler, self.dtype)
    if found is None and self.dtype is _INT64 and type(filler) is int:
        found = np.array(filler)
    if found is None or condition.dtype.kind != "b" or condition.shape != self.shape:
        return NotImplemented
    if not (is_row_major(condition) and is_row_major(self)):
        return NotImplemented
    return select(condition, self, found) if other else select(condition, found, self)


def _choose_number(condition: Array, self: Any, other: Any) -> Any:
    kinds = {type(self), type(other)}
    if condition.dtype.kind != "b" or not kinds <= {int, float} or not is_row_major(condition):
        return NotImplemented
    dtype = NUMPY_DTYPES[DEFAULT_DTYPE.dtype if float in kinds else ScalarType.Long]
    return np.where(condition, np.array(self, dtype), np.array(other, dtype))


def _histc(self: Array, bins: int, min: Any, max: Any) -> Any:  # torch's names
    if self.dtype.char not in "fd" or not self.size or bins <= 0 or not np.isfinite(self).all():
        return NotImplemented
    if min == max:
        min, max = self.item(self.argmin()), self.item(self.argmax())
    if min == max:
        min, max = min - 1, max + 1
    if not min < max or type(min) not in (int, float) or not np.isfinite([min, max]).all():
        return NotImplemented
    flat = self.reshape(-1)
    low, high = number(min, self), number(max, self)
    flat = flat[(flat >= low) & (flat <= high)]
    places = ((flat - low) * number(bins, self) / number(float(max) - float(min), self)).astype(np.int64)
    return np.bincount(np.minimum(places, bins - 1), None, bins).astype(self.dtype)


def _quantile(self: Array, q: float, dim: int | None, keepdim: bool, *, interpolation: str) -> Any:
    """Find the elements on both sides of a rank by partition, in rows without nan."""
    if self.dtype not in NUMBERS or not self.size or not 0 <= q <= 1 or interpolation != "linear" or has_nan(self):
        return NotImplemented
    if dim is not None and (keepdim or not -self.ndim <= dim < self.ndim):
        return NotImplemented
    rows = self.reshape(-1) if dim is None else as_rows(self, dim)
    rank = number(q, self) * number(rows.shape[-1] - 1, self)
    below, above = int(rank), math.ceil(rank)
    parts = np.partition(rows, (below, above), -1)
    weight = np.full(rows.shape[:-1], rank - below, self.dtype)
    found = as_array(quietly(lerp, parts[..., below].copy(), parts[..., above].copy(), weight))
    return found.reshape((1,) * self.ndim) if keepdim else found


def _search_number(sequence: Array, self: Any, **options: Any) -> Any:
    if sequence.ndim != 1 or sequence.dtype not in NUMBERS or type(self) not in PLAIN:
        return NotImplemented
    return _SEARCH(sequence, number(self, sequence), **options)


#: The operators that look elements up by rank.
_RANKED: Final = """
    new_full reshape view sort isnan any.dim movedim.int permute mul.Scalar where.ScalarSelf where.self expand
    _to_copy gather ceil sub.Tensor lerp.Tensor squeeze.dim clone sum.dim_IntList logical_not sub.Scalar mul.Tensor
    clamp_min round floor unsqueeze
"""
#: The operators that find runs.
_RUNS: Final = """
    reshape view ne.Tensor slice.Tensor cat new_ones nonzero cumsum sub.Scalar new_full sub.Tensor index_select new_empty
""".split()
#: Operator → its short way, and the options of ``Library.short_way``.
SHORT_WAYS: Final[dict[str, tuple[Callable[..., Any], dict[str, Any]]]] = {
    "one_hot": (
        _one_hot,
        {
            "parts": (
                *("item", "_local_scalar_dense", "min", "max", "arange.start_step", "eq.Tensor", "unsqueeze"),
                *("contiguous", "_to_copy"),
            )
        },
    ),
    "take_along_dim": (
        _take_along_dim,
        {"parts": ("gather", "where.self", "lt.Scalar", "add.Scalar", "expand")},
    ),
    "unique_consecutive": (_unique_consecutive, {"parts": (*_RUNS,)}),
    "diag": (_diag, {"parts": ("diagonal_copy", "diagonal", "clone")}),
    "where.ScalarOther": (
        lambda condition, self, other: _choose(condition, self, other, other=True),
        {"parts": ("where.self", "new_full")},
    ),
    "where.ScalarSelf": (
        lambda condition, self, other: _choose(condition, other, self, other=False),
        {"parts": ("where.self", "new_full")},
    ),
    "where.Scalar": (_choose_number, {"parts": ("where.self", "new_full")}),
    "searchsorted.Scalar": (_search_number, {"parts": ("new_full", "searchsorted.Tensor")}),
    **{f"{name}.scalar": (_quantile, {"parts": tuple(_RANKED.split())}) for name in ("quantile", "nanquantile")},
    "histc": (
        _histc,
        {
            "parts": (
                *(
                    "amin",
                    "amax",
                    "item",
                    "_local_scalar_dense",
                    "reshape",
                    "view",
                    "ge.Scalar",
                    "le.Scalar",
                    "logical_and",
                ),
                *(
                    "sub.Scalar",
                    "mul.Scalar",
                    "div.Scalar",
                    "logical_not",
                    "masked_fill.Scalar",
                    "_to_copy",
                    "where.self",
                ),
                *("clamp_max", "new_zeros", "ones_like", "index_add", "slice.Tensor", "clone"),
            )
        },
    ),
}
