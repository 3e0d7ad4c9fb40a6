"""Distinct elements, and how often numbers occur: results whose size is in the values."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

import numpy as np

from dispatch_aten.errors import DataDependentShapeError, OperatorError
from dispatch_aten.shapes import RULES

from ...arrays import Array, describe
from ...halves import TILE
from ...kernel_table import Kernel, KernelTable
from ...output_specs import OutputSpec, widen
from ..support.reduce_ufuncs import ANY
from ..support.rule_kernels import make_kernel
from .ordering import read_rows, sort_rows

KERNELS: Final = KernelTable()

_NONE: Final = np.empty(0, np.int64)


def _refuse(name: str, *args: Any) -> None:
    """Check an operator's arguments by its rule; that it cannot tell the size is not a refusal."""
    with suppress(DataDependentShapeError):
        RULES[name](*args)


@KERNELS("_unique2")
def _unique(
    self: Array, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Array, Array, Array]:
    if self.dtype.kind == "c":
        _refuse("_unique2", describe(self))
    flat = self.reshape(-1)
    if not flat.size:
        return flat.copy(), np.empty(self.shape if return_inverse else 0, np.int64), _NONE.copy()
    if flat.dtype.kind in "iu" and not return_inverse:
        values, order = np.sort(flat), None
    else:
        order = sort_rows(widen(flat))[1]
        values = read_rows(flat, order)
    return runs_of(values, order, self.shape, return_inverse, return_counts)


def runs_of(
    values: Array, order: Array | None, shape: tuple[int, ...], return_inverse: bool, return_counts: bool
) -> tuple[Array, Array, Array]:
    """Return the first of each run of equal values, for each element of ``shape`` the number of its run, and the lengths.

    ``order`` says where the values came from.
    """
    begins = np.ones(values.shape, np.bool_)
    np.not_equal(values[1:], values[:-1], out=begins[1:])
    firsts, inverse, counts = _number_runs(begins, order, shape, return_inverse, return_counts)
    return values.take(firsts), inverse, counts


def _number_runs(
    begins: Array, order: Array | None, shape: tuple[int, ...], return_inverse: bool, return_counts: bool
) -> tuple[Array, Array, Array]:
    """Return where runs begin, for each element of ``shape`` the number of its run, and the lengths of the runs."""
    (firsts,) = begins.nonzero()
    inverse = counts = _NONE.copy()
    if return_inverse:
        numbers = np.cumsum(begins) - 1
        if order is not None:
            inverse = np.empty_like(numbers)
            inverse[order] = numbers
            numbers = inverse
        inverse = numbers.reshape(shape)
    if return_counts:
        counts = np.diff(firsts, append=begins.size)
    return firsts, inverse, counts


def _unique_dim(self: Array, dim: int, sorted: bool, return_inverse: bool, return_counts: bool) -> Any:
    """Return the distinct slices, which are sorted by all elements only where some begin alike."""
    if self.dtype.kind not in "fiub" or not self.size or not -self.ndim <= dim < self.ndim:
        return NotImplemented
    rows = np.moveaxis(self, dim, 0)
    lines = rows.reshape(len(rows), -1)
    order = lines[:, 0].argsort(kind="stable")
    begin = lines[order, 0]
    if (begin[1:] == begin[:-1]).any() or (begin[-1:] != begin[-1:]).any():
        order = np.lexsort(lines.T[::-1])
    taken = lines[order]
    begins = np.ones(len(lines), np.bool_)
    ANY(taken[1:] != taken[:-1], 1, None, begins[1:])
    firsts, inverse, counts = _number_runs(begins, order, (len(lines),), return_inverse, return_counts)
    return np.ascontiguousarray(np.moveaxis(rows.take(order.take(firsts), 0), 0, dim)), inverse, counts


@KERNELS("repeat_interleave.Tensor")
def _repeat_places(repeats: Array, *, output_size: int | None = None) -> Array:
    with suppress(DataDependentShapeError):
        RULES["repeat_interleave.Tensor"](describe(repeats), output_size=0)
    if not repeats.size:
        return repeats.copy()
    if repeats.item(repeats.argmin()) < 0:
        raise OperatorError(
            "repeats can not be negative", operator="aten::repeat_interleave.Tensor", argument="repeats"
        )
    if output_size is None:
        return np.arange(repeats.size, dtype=repeats.dtype).repeat(repeats)
    if output_size != (count := int(repeats.sum())):
        raise OperatorError(
            f"allocated size does not match required size: {output_size} is given, and the repeats come to {count}",
            operator="aten::repeat_interleave.Tensor",
            argument="output_size",
        )
    return repeats.cumsum().searchsorted(np.arange(output_size), "right").astype(repeats.dtype)


def _repeat_each(self: Array, repeats: Array, dim: int | None, *, output_size: int | None) -> Any:
    if dim is None:
        self, dim = self.reshape(-1), 0
    if not -self.ndim <= dim < self.ndim or repeats.shape != self.shape[dim : dim + 1 or None] or not repeats.size:
        return NotImplemented
    if output_size is not None or repeats.dtype.char not in "il" or repeats.item(repeats.argmin()) < 0:
        return NotImplemented
    return np.ascontiguousarray(self).repeat(repeats, dim)


@KERNELS("bincount")
def _bincount(self: Array, weights: Array | None = None, minlength: int = 0) -> Array:
    if minlength < 0 or self.ndim != 1 or self.dtype.kind not in "iu" or weights is not None:
        _refuse("bincount", describe(self), None if weights is None else describe(weights), minlength)
    if not self.size:
        return np.zeros(minlength, np.int64)
    low, high = self.item(self.argmin()), self.item(self.argmax())
    if low < 0:
        raise OperatorError(
            "bincount only supports 1-d non-negative integral inputs.", operator="aten::bincount", argument="self"
        )
    places = self.astype(np.int64, copy=False)
    if weights is None:
        return np.bincount(places, None, minlength)
    dtype = weights.dtype if weights.dtype.char == "f" else np.float64
    found = np.zeros(max(high + 1, minlength), dtype)
    np.add.at(found, places, weights.astype(dtype, copy=False))
    return found


def _isin(
    spec: OutputSpec, elements: Array, tested: Array, *, assume_unique: bool = False, invert: bool = False
) -> Any:
    """Compare few elements with each other at once; of many NumPy makes a table, or sorts them."""
    if elements.size * tested.size > TILE:
        return np.isin(elements, tested, assume_unique=assume_unique, invert=invert)
    found = ANY(elements[..., None] == tested.reshape(-1), -1)
    return ~found if invert else found


KERNELS["isin.Tensor_Tensor"] = make_kernel("isin.Tensor_Tensor", _isin)

_COMPARED: Final = """
    movedim.int permute arange arange.start_step reshape view select.int index_select sort.stable slice.Tensor ne.Tensor
    any.dims cat new_ones nonzero cumsum sub.Scalar new_full sub.Tensor zeros_like scatter.src new_empty contiguous clone
"""
#: Operator → its short way, and the options of ``Library.short_way``.
SHORT_WAYS: Final[dict[str, tuple[Kernel, dict[str, Any]]]] = {
    "unique_dim": (_unique_dim, {"parts": tuple(_COMPARED.split())}),
    "repeat_interleave.self_Tensor": (
        _repeat_each,
        {"parts": ("flatten.using_ints", "view", "reshape", "index_select", "repeat_interleave.Tensor", "expand")},
    ),
}
