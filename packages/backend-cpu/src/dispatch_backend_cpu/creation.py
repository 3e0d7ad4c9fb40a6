"""Kernels that make arrays from sizes and numbers, and that fill them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from .arrays import Array, check_writable, empty_strided
from .fp_errors import ignore_fp_errors
from .kernel_table import Kernel, KernelTable, computed_by
from .ops.support.constants import constant
from .ops.support.rule_kernels import cast
from .output_specs import OutputSpec, infer_output, output_rule

KERNELS: Final = KernelTable()


#: Arrays of fewer elements are made without the rule, where the arguments are plain.
_FEW: Final = 4096


def _make_factory(name: str, fill: Any) -> Kernel:
    """Make the kernel of a factory: an array of the rule's shape, strides and dtype, filled by ``fill(array, *args)``."""
    infer = output_rule(name)

    @ignore_fp_errors
    def kernel(*args: Any, **kwargs: Any) -> Array:
        spec = infer(*args, **kwargs)
        array = empty_strided(spec.shape, spec.strides, spec.array_dtype)
        fill(array, *args)
        return array

    return computed_by(kernel, fill)


def leave_as_is(array: Array, *args: Any) -> None:
    """Leave the memory as it is."""


def _convert_number(value: Any, array: Array) -> Array:
    """Convert a Python number to the array's dtype as C does, where NumPy would refuse a number that does not fit."""
    return cast(value, array.dtype)


#: Elements that are made before the others are copied or counted on from them.
_BLOCK: Final = 1 << 14


def fill_with_zeros(array: Array, *args: Any) -> None:
    """Fill an array with zeros."""
    # Bytes are set in half the time of other elements.
    flat = array.reshape(-1).view(np.uint8) if array.flags.c_contiguous and array.size > _FEW else array
    flat.fill(0)


def fill_with_ones(array: Array, *args: Any) -> None:
    """Fill an array with ones."""
    fill_large(array.reshape(-1), 1) if array.flags.c_contiguous else array.fill(1)


def fill_large(array: Array, value: Any) -> None:
    """Fill a vector with a number that its dtype holds, which is copied from the cache where there are many elements."""
    rows = array.size // _FEW
    if rows < _MANY:
        array.fill(value)
        return
    first = array[:_FEW]
    first.fill(value)
    array[_FEW : rows * _FEW].reshape(-1, _FEW)[...] = first
    array[rows * _FEW :].fill(value)


#: Rows of elements from which copies take less time than numbers.
_MANY: Final = 8


def _count_on(array: Array, start: int, step: int) -> None:
    """Fill a long vector of int64 with numbers ``step`` apart, each part from the one before it, which the cache holds."""
    array[:_BLOCK] = start + np.arange(_BLOCK) * step
    filled = _BLOCK
    while filled < array.size:
        count = min(filled, array.size - filled)
        np.add(array[:count], filled * step, array[filled : filled + count])
        filled += count


def _full(array: Array, size_or_self: Any, *rest: Any) -> None:
    array[...] = _convert_number(rest[-1], array)


def _arange(array: Array, *bounds: Any) -> None:
    start, step = (0, 1) if len(bounds) == 1 else (bounds[0], bounds[2] if len(bounds) == 3 else 1)
    if array.dtype == np.int64 and array.size > _BLOCK and abs(int(step)) * array.size < 1 << 62:
        _count_on(array, int(start), int(step))
    elif array.dtype.kind in "iu":
        array[...] = int(start) + np.arange(array.size) * int(step)
    elif array.dtype.kind == "f":
        array[...] = float(start) + np.arange(array.size, dtype=np.float64) * float(step)
    else:
        array[...] = start + np.arange(array.size) * step


def _linspace(array: Array, start: Any, end: Any, steps: int) -> None:
    """Fill from both ends, as torch does, so that the last element is ``end`` exactly."""
    if array.dtype.kind in "iu":
        # A negative end of an unsigned line wraps around before the step is taken, as in torch.
        start, end = np.array([int(start), int(end)]).astype(array.dtype).tolist()
        step = (end - start) / max(steps - 1, 1)
        forward = np.arange(steps)
        array[...] = np.where(forward < steps // 2, start + step * forward, end - step * (steps - forward - 1))
        if steps == 1:
            array[...] = start
        return
    # torch rounds the ends, the step and each element, which is one multiplication and addition but in 16 bits.
    dtype = array.dtype
    exact: Any = _EXACT.get(dtype.char, dtype)
    first, last = dtype.type(start), dtype.type(end)
    if steps < 2:
        array[...] = first
        return
    step = exact.type((last - first) / dtype.type(steps - 1))
    half = steps // 2
    for place in range(0, steps - half, _TILE):
        distances = step * np.arange(place, min(place + _TILE, steps - half)).astype(exact)
        ahead = array[place:half][:_TILE]
        ahead[...] = exact.type(first) + distances[: len(ahead)]
        array[half:][::-1][place : place + _TILE] = exact.type(last) - distances


_TILE: Final = 1 << 14  # elements whose distances stay in the cache


#: The letter of a dtype → the dtype in which its products and sums are not rounded, or next to not.
_EXACT: Final[dict[str, np.dtype[Any]]] = {
    "f": np.dtype("d"),
    "d": np.dtype("g"),
    "F": np.dtype("D"),
    "D": np.dtype("G"),
}


def _eye(array: Array, *sizes: int) -> None:
    array.fill(0)
    np.fill_diagonal(array, 1)


def _scalar(array: Array, value: Any) -> None:
    array[...] = _convert_number(value, array)


def _fill_triangle(array: Array, starts: Array, counts: Array) -> None:
    """Fill in the rows and columns of some elements of each row, which begin at a column."""
    ends = counts.cumsum()
    array[0] = np.arange(counts.size).repeat(counts)
    np.add(np.arange(array.shape[1]), (starts - ends + counts).repeat(counts), array[1], casting="unsafe")


def _tril_indices(array: Array, row: int, col: int, offset: int = 0) -> None:
    counts = (np.arange(row) + (offset + 1)).clip(0, col)
    _fill_triangle(array, np.zeros(row, np.int64), counts)


def _triu_indices(array: Array, row: int, col: int, offset: int = 0) -> None:
    starts = (np.arange(row) + offset).clip(0, col)
    _fill_triangle(array, starts, col - starts)


_FILLS: Final = {
    "empty.memory_format": leave_as_is,
    "empty_strided": leave_as_is,
    "empty_like": leave_as_is,
    "new_empty": leave_as_is,
    "new_empty_strided": leave_as_is,
    "zeros": fill_with_zeros,
    "zeros_like": fill_with_zeros,
    "new_zeros": fill_with_zeros,
    "ones": fill_with_ones,
    "ones_like": fill_with_ones,
    "new_ones": fill_with_ones,
    "full": _full,
    "full_like": _full,
    "new_full": _full,
    "arange": _arange,
    "arange.start": _arange,
    "arange.start_step": _arange,
    "linspace": _linspace,
    "tril_indices": _tril_indices,
    "triu_indices": _triu_indices,
    "eye": _eye,
    "eye.m": _eye,
    "scalar_tensor": _scalar,
}
KERNELS.update({name: _make_factory(name, fill) for name, fill in _FILLS.items()})


@KERNELS("fill_.Scalar", "fill_.Tensor")
def _fill_inplace(self: Array, value: Any) -> Array:
    filler = constant(value, self.dtype)
    flags = self.flags
    if filler is not None and flags.writeable:
        if self.size > _FEW and flags.c_contiguous:
            fill_large(self.reshape(-1), filler)
        else:
            self[...] = filler
        return self
    return _fill_generally(self, value)


@ignore_fp_errors
def _fill_generally(self: Array, value: Any) -> Array:
    check_writable(self, expanded=not isinstance(value, np.ndarray))
    infer_output("fill.Tensor" if isinstance(value, np.ndarray) else "fill.Scalar", self, value)
    self[...] = _convert_number(value, self)
    return self


@KERNELS("fill.Scalar", "fill.Tensor")
@ignore_fp_errors
def _fill(self: Array, value: Any) -> Array:
    spec: OutputSpec = infer_output("fill.Tensor" if isinstance(value, np.ndarray) else "fill.Scalar", self, value)
    array = empty_strided(spec.shape, spec.strides, self.dtype)
    array[...] = _convert_number(value, array)
    return array


@KERNELS("zero_")
def _zero_inplace(self: Array) -> Array:
    if not self.flags.writeable:
        check_writable(self, expanded=True)
    if self.size > _FEW:
        fill_with_zeros(self)
    else:
        self.fill(0)
    return self
