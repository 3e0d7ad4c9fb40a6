"""Kernels of scattered reductions."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from dispatch_aten.shapes import wrap_dim

from ...arrays import Array
from ...fp_errors import ignore_fp_errors
from ...kernel_table import Kernel, KernelTable
from ...output_specs import output_rule
from ..support.places import add_slices, apply_at, as_vector, check_along, locate
from ..support.rule_kernels import check_apart, check_overlap, make_kernel, write

KERNELS: Final = KernelTable()

_REDUCTIONS: Final[dict[str, Any]] = {
    "sum": np.add,
    "mean": np.add,
    "prod": np.multiply,
    "amax": np.maximum,
    "amin": np.minimum,
}


def _identity(reduce: str, dtype: np.dtype[Any]) -> Any:
    """Return the number that a reduction begins with where it leaves the tensor's own elements out."""
    if reduce in ("amax", "amin"):
        if dtype.kind == "b":
            return reduce == "amin"
        if dtype.kind in "iu":
            return np.iinfo(dtype).min if reduce == "amax" else np.iinfo(dtype).max
        return -np.inf if reduce == "amax" else np.inf
    return reduce == "prod"


def _scatter_reduce(spec: Any, self: Array, *args: Any, include_self: bool = True) -> Array:
    result = self.copy(order="C")
    _reduce_into(result, *args, include_self=include_self)
    return result


def _reduce_into(result: Array, dim: int, index: Array, src: Array, reduce: str, *, include_self: bool = True) -> None:
    if not index.size:
        return
    wide, index = as_vector(result), as_vector(index)
    axis = wrap_dim(dim, wide.ndim)
    check_along(index, axis, wide.shape[axis])
    target, places = locate(wide, index, axis, index.shape)
    source = as_vector(src)[tuple([slice(size) for size in index.shape])]
    if not include_self:
        target[places] = _identity(reduce, target.dtype)
    apply_at(_REDUCTIONS[reduce], target, places, source)
    if reduce == "mean":
        counts = np.full(target.shape, int(include_self))
        apply_at(np.add, counts, places, 1)
        _divide(target, np.maximum(counts, 1))


def _index_reduce(
    spec: Any, self: Array, dim: int, index: Array, source: Array, reduce: str, *, include_self: bool = True
) -> Array:
    """Fold slices into those that an index names, in order."""
    result = self.copy(order="C")
    target, places, slices = as_vector(result), as_vector(index), as_vector(source)
    if not slices.size:
        return result
    axis = wrap_dim(dim, target.ndim)
    check_along(places, axis, target.shape[axis])
    if not include_self:
        outer: Any = (slice(None),) * axis
        target[(*outer, places)] = _identity(reduce, target.dtype)
    add_slices(target, axis, places, slices, _REDUCTIONS[reduce])
    if reduce == "mean":
        counts = np.bincount(places, None, target.shape[axis]) + int(include_self)
        _divide(target, np.maximum(counts, 1).reshape(-1, *[1] * (target.ndim - axis - 1)))
    return result


def _divide(target: Array, counts: Array) -> None:
    if target.dtype.kind in "iu":
        target[...] = np.floor_divide(target, counts)
    else:  # in the dtype itself: complex numbers round otherwise in a wider one
        target[...] = np.true_divide(target, counts.astype(target.dtype))


_inplace_rule: Final = output_rule("scatter_reduce_.two")


@KERNELS("scatter_reduce_.two")
@ignore_fp_errors
def _scatter_reduce_inplace(
    self: Array, dim: int, index: Array, src: Array, reduce: str, *, include_self: bool = True
) -> Array:
    spec = _inplace_rule(self, dim, index, src, reduce, include_self=include_self)
    check_overlap(self)
    check_apart(self, index, src)
    if spec.widens:  # rounded once, at the end
        return write(self, _general(self, dim, index, src, reduce, include_self=include_self))
    _reduce_into(self, dim, index, src, reduce, include_self=include_self)
    return self


_general: Final = make_kernel("scatter_reduce.two", _scatter_reduce)
KERNELS["scatter_reduce.two"] = _general

#: Operator → its short way, and the options of ``Library.short_way``.
SHORT_WAYS: Final[dict[str, tuple[Kernel, dict[str, Any]]]] = {
    "index_reduce": (
        make_kernel("index_reduce", _index_reduce),
        {"parts": ("reshape", "view", "expand", "scatter_reduce.two")},
    )
}
