"""Running sums, products and extrema.

Note [Scans along other dimensions]
    NumPy follows the scanned dimension for one element after the other. Where each step of it is a long slice, the slices
    are combined as a whole instead, in the same order.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from dispatch_aten.dtypes import ScalarType
from dispatch_aten.shapes import wrap_dim

from ...arrays import Array, is_row_major
from ...fp_errors import ignore_fp_errors, quietly
from ...kernel_table import Kernel, KernelTable, computed_by
from ...output_specs import OutputSpec, half_as_float, output_rule
from ..support.compiled_kernels import native
from ..support.constants import number
from ..support.rule_kernels import cast, check_overlap, make_kernel, write
from .ordering import as_rows, from_rows, has_nan

KERNELS: Final = KernelTable()

#: Slices of as many elements are combined as a whole.
_LONG: Final = 256
#: Arrays of as many elements are converted before.
_MANY: Final = 4096
#: Lines of as many elements are looked at in blocks.
_HUGE, _BLOCK = 16384, 1024
#: The dtypes in which torch's scans on a CPU accumulate others.
_WIDE: Final = {"f": np.dtype(np.float64), "F": np.dtype(np.complex128)}


def _wide_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype that a scan adds or multiplies in."""
    return _WIDE.get(dtype.char, half_as_float(dtype))


#: The dtypes of which a scan is of the same dtype → those that it adds or multiplies in.
_PLAIN: Final = {dtype: _wide_dtype(dtype) for dtype in map(np.dtype, "fdlFD")}


def _accumulate(ufunc: Any, a: Array, axis: int, wide: np.dtype[Any]) -> Array:
    """Scan an array in a wider dtype; the sum of negative zeros is zero, because torch begins with one."""
    length = a.shape[axis]
    if 1 < length <= a.size // _LONG and axis < a.ndim - 1 and a.flags.c_contiguous:
        return _combine_slices(ufunc, a, axis, wide)
    found: Array
    if a.size < _MANY or a.dtype is wide:
        found = ufunc.accumulate(a, axis, wide)
    else:  # NumPy would convert bit by bit
        found = a.astype(wide)
        ufunc.accumulate(found, axis, None, found)
    if ufunc is np.add and a.dtype.kind in "fc" and not (a.ndim == 1 and a.size and found.item(0)):
        np.add(found, number(0, found), found)
    return found if found.dtype is a.dtype else found.astype(a.dtype)


def _combine_slices(ufunc: Any, a: Array, axis: int, wide: np.dtype[Any]) -> Array:
    """Do as `_accumulate`; see Note [Scans along other dimensions]."""
    found = np.empty(a.shape, a.dtype)
    slices = (math.prod(a.shape[:axis]), a.shape[axis], math.prod(a.shape[axis + 1 :]))
    given, taken = a.reshape(slices), found.reshape(slices)
    total = np.full((slices[0], slices[2]), ufunc.identity, wide)
    for step in range(slices[1]):
        ufunc(total, given[:, step], total)
        taken[:, step] = total
    return found


def _scan(ufunc: Any) -> Kernel:
    """Make cumsum or cumprod."""

    def compute(spec: OutputSpec, a: Array, dim: int, *, dtype: ScalarType | None = None) -> Any:
        wanted = spec.array_dtype
        if dtype is not None:
            a = cast(a, wanted)
        a = cast(a, half_as_float(wanted))
        if not a.ndim:
            return a.copy()
        return _accumulate(ufunc, a, wrap_dim(dim, a.ndim), _wide_dtype(wanted))

    return compute


def _quick_scan(name: str, ufunc: Any) -> Kernel:
    """Make the kernel of a scan, which asks no rule for arrays without gaps that keep their dtype."""
    general = make_kernel(name, _scan(ufunc), in_float=True)

    def kernel(self: Array, dim: int, *, dtype: ScalarType | None = None) -> Array:
        count, wide = self.ndim, _PLAIN.get(self.dtype)
        if wide is not None and dtype is None and -count <= dim < count and self.size and is_row_major(self):
            return quietly(_accumulate, ufunc, self, dim % count, wide)
        found: Array = general(self, dim, dtype=dtype)
        return found

    return computed_by(kernel, general)


def _scan_inplace(name: str, ufunc: Any) -> Kernel:
    functional, infer = _scan(ufunc), output_rule(name)

    def kernel(self: Array, dim: int, *, dtype: ScalarType | None = None) -> Array:
        spec = infer(self, dim, dtype=dtype)
        check_overlap(self)
        return write(self, functional(spec, self, dim))

    return ignore_fp_errors(kernel)


def _extremum_of_line(ufunc: Any, line: Array) -> tuple[Array, Array]:
    """Follow only the elements that no block before their own outdoes: mostly few, and all that count are among them."""
    whole = line.size - line.size % _BLOCK
    blocks = line[:whole].reshape(-1, _BLOCK)
    before = ufunc.accumulate(ufunc.reduce(blocks, 1))[:-1, None]
    reaches = blocks[1:] >= before if ufunc is np.maximum else blocks[1:] <= before
    (later,) = reaches.reshape(-1).nonzero()
    places = np.concatenate([np.arange(_BLOCK), later + _BLOCK, np.arange(whole, line.size)])
    values = line.take(places)
    places = places[values == ufunc.accumulate(values)]
    lengths = np.diff(places, append=line.size)
    return line.take(places).repeat(lengths), places.repeat(lengths)


def _extremum(ufunc: Any) -> Kernel:
    """Make cummax or cummin; of equal values the last one counts, and nan is greater and less than all."""

    def compute(spec: Any, self: Array, dim: int) -> Any:
        if not self.ndim or not self.size:
            return self.copy(), np.zeros(self.shape, np.int64)
        if self.ndim == 1 and self.size >= _HUGE and not has_nan(self):
            return _extremum_of_line(ufunc, self)
        rows = as_rows(self, dim)
        values = ufunc.accumulate(rows, -1)
        hit = rows == values
        if self.dtype.kind == "f":
            hit |= np.isnan(rows)
        # A row's first element is always one that counts.
        (places,) = hit.reshape(-1).nonzero()
        lengths = np.empty_like(places)
        np.subtract(places[1:], places[:-1], lengths[:-1])
        lengths[-1] = hit.size - places[-1]
        if rows.ndim > 1:
            places %= rows.shape[-1]
        return from_rows(values, dim), from_rows(places.repeat(lengths).reshape(rows.shape), dim)

    return compute


def _logcumsumexp(spec: OutputSpec, self: Array, dim: int) -> Any:
    if not self.ndim:
        return self.copy()
    axis = wrap_dim(dim, self.ndim)
    if self.dtype.kind == "f":
        return np.logaddexp.accumulate(self.astype(half_as_float(self.dtype)), axis)
    result = np.empty(self.shape, np.complex128)
    rows, found = (np.moveaxis(each, axis, 0) for each in (self, result))
    for place, row in enumerate(rows):
        before = found[place - 1] if place else np.full_like(row, -np.inf)
        least, most = np.where(before.real < row.real, (before, row), (row, before))
        added = np.where(np.isneginf(most.real), most, np.log1p(np.exp(least - most)) + most)
        added = np.where(np.isposinf(least.real), np.log(np.exp(least) + np.exp(most)), added)
        found[place] = np.where(np.isnan(before) | np.isnan(row), complex(np.nan, np.nan), added)
    return result


for _name, _ufunc in (("cumsum", np.add), ("cumprod", np.multiply)):
    KERNELS[_name] = _quick_scan(_name, _ufunc)
    KERNELS[f"{_name}_"] = _scan_inplace(f"{_name}_", _ufunc)
KERNELS["cumsum"] = native("running sum", KERNELS["cumsum"], None, map(np.dtype, "fdl"))
_COMPUTE: Final[dict[str, Kernel]] = {
    "cummax": _extremum(np.maximum),
    "cummin": _extremum(np.minimum),
    "logcumsumexp": _logcumsumexp,
}
KERNELS.update({name: make_kernel(name, compute, in_float=True) for name, compute in _COMPUTE.items()})
