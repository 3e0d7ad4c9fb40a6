"""Factories with plain arguments: NumPy's own functions, without the shape rule, which all others go by.

Each kernel takes the place of the general one of `creation`, and leaves to it all other calls: numbers that may not fit
the dtype, dtypes that NumPy lacks, layouts other than row-major, and whatever is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final

import numpy as np

from dispatch_aten.dtypes import DEFAULT_DTYPE, ScalarType

from . import creation, memory
from .arrays import NUMPY_DTYPES, Array, is_row_major
from .kernel_table import Kernel, KernelTable, computed_by
from .ops.support.constants import NUMBERS

KERNELS: Final = KernelTable()

#: Arrays of fewer elements are made by NumPy; the memory of larger ones may be kept.
_FEW: Final = 4096
#: Numbers below it fit into every dtype that they are given here.
_LARGE: Final = 6e4
_INFINITE: Final = (math.inf, -math.inf)
_INT64: Final = np.dtype(np.int64)
_BOOL: Final = np.dtype(np.bool_)
_FLOAT64: Final = np.dtype(np.float64)
#: The dtype of a number that a call gives none for; of a float it is the default one.
_INFERRED: Final[dict[type, ScalarType]] = {int: ScalarType.Long, bool: ScalarType.Bool}
#: The errors of a kernel for a call that it leaves to the general one.
_FAULTS: Final = (KeyError, TypeError, ValueError, OverflowError)


def _new(size: Sequence[int], count: int, dtype: np.dtype[Any]) -> Array:
    return np.empty(size, dtype) if count < _FEW else memory.empty(count, dtype).reshape(size)


def _fits(value: Any, dtype: np.dtype[Any]) -> bool:
    """Return whether NumPy fills an array of a dtype with a plain number as torch does."""
    kind = type(value)
    if dtype in NUMBERS:
        return kind in (int, float, bool) and (-_LARGE < value < _LARGE or value in _INFINITE)
    return kind is bool or (kind is int and dtype is _INT64 and -_LARGE < value < _LARGE)


def _make_of_size(make: Callable[..., Array], fill: Callable[[Array], None], general: Kernel) -> Kernel:
    """Make the kernel of a factory of a size and a dtype: ``make(size, dtype)`` for small arrays, ``fill`` for others."""

    def kernel(
        size: Sequence[int],
        dtype: ScalarType | None = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: Any = None,
        memory_format: int | None = None,
    ) -> Array:
        if memory_format is None and (count := prod(size)) >= 0:
            try:
                if count < _FEW:
                    return make(size, NUMPY_DTYPES[dtype or DEFAULT_DTYPE.dtype])
                array = memory.empty(count, NUMPY_DTYPES[dtype or DEFAULT_DTYPE.dtype])
                fill(array)
                return array.reshape(size)
            except _FAULTS:
                pass  # a size below zero, or a dtype that NumPy lacks
        return general(size, dtype=dtype, **({} if memory_format is None else {"memory_format": memory_format}))

    return computed_by(kernel, make)


def _make_new(make: Callable[..., Array], general: Kernel) -> Kernel:
    """Make the same for a size and an array whose dtype is taken."""

    def kernel(
        self: Array,
        size: Sequence[int],
        dtype: ScalarType | None = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: Any = None,
    ) -> Array:
        if -1 < prod(size) < _FEW:
            try:
                return make(size, self.dtype if dtype is None else NUMPY_DTYPES[dtype])
            except _FAULTS:
                pass
        return general(self, size, dtype=dtype)

    return computed_by(kernel, make)


def _make_like(make: Callable[..., Array], general: Kernel) -> Kernel:
    """Make the same for an array whose shape and dtype are taken."""

    def kernel(
        self: Array,
        dtype: ScalarType | None = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: Any = None,
        memory_format: int | None = None,
    ) -> Array:
        if memory_format is None and 0 < self.size < _FEW:
            if dtype is None:
                array = make(self.shape, self.dtype)
                if array.strides == self.strides:
                    return array
            elif is_row_major(self) and (made := NUMPY_DTYPES.get(dtype)) is not None:
                return make(self.shape, made)
        return general(self, dtype=dtype, memory_format=memory_format)

    return computed_by(kernel, make)


def _make_ones(size: Sequence[int], dtype: np.dtype[Any]) -> Array:
    array = np.empty(size, dtype)
    array.fill(1)
    return array


_MAKERS: Final[dict[str, tuple[Callable[..., Array], Callable[..., None]]]] = {
    "empty": (np.empty, creation.leave_as_is),
    "zeros": (np.zeros, creation.fill_with_zeros),
    "ones": (_make_ones, creation.fill_with_ones),
}
for _name, (_make, _fill) in _MAKERS.items():
    _full_name = _name if _name != "empty" else "empty.memory_format"
    KERNELS[_full_name] = _make_of_size(_make, _fill, creation.KERNELS[_full_name])
    for _full_name, _make_form in ((f"{_name}_like", _make_like), (f"new_{_name}", _make_new)):
        KERNELS[_full_name] = _make_form(_make, creation.KERNELS[_full_name])


def _make_filled(size: Sequence[int], value: Any, dtype: np.dtype[Any]) -> Array | None:
    """Make an array filled with a number; None where the general kernel has to look at it."""
    count = prod(size)
    if count < 0 or not _fits(value, dtype):
        return None
    try:
        array = _new(size, count, dtype)
    except _FAULTS:
        return None
    if count < _FEW:
        array.fill(value)
    else:
        creation.fill_large(array.reshape(-1), value)
    return array


def _full(
    size: Sequence[int],
    fill_value: Any,
    dtype: ScalarType | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
) -> Array:
    made = NUMPY_DTYPES.get(dtype or _INFERRED.get(type(fill_value)) or DEFAULT_DTYPE.dtype)
    array = None if made is None else _make_filled(size, fill_value, made)
    return _full_generally(size, fill_value, dtype=dtype) if array is None else array


def _new_full(
    self: Array,
    size: Sequence[int],
    fill_value: Any,
    dtype: ScalarType | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
) -> Array:
    made = self.dtype if dtype is None else NUMPY_DTYPES.get(dtype)
    array = None if made is None else _make_filled(size, fill_value, made)
    return _new_full_generally(self, size, fill_value, dtype=dtype) if array is None else array


def _full_like(
    self: Array,
    fill_value: Any,
    dtype: ScalarType | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
    memory_format: int | None = None,
) -> Array:
    made = self.dtype if dtype is None else NUMPY_DTYPES.get(dtype)
    if made is not None and memory_format is None and self.size and is_row_major(self):
        array = _make_filled(self.shape, fill_value, made)
        if array is not None:
            return array
    return _full_like_generally(self, fill_value, dtype=dtype, memory_format=memory_format)


_full_generally, _new_full_generally, _full_like_generally = (
    creation.KERNELS[each] for each in ("full", "new_full", "full_like")
)
KERNELS.update({"full": _full, "new_full": _new_full, "full_like": _full_like})


@KERNELS("scalar_tensor")
def _scalar_tensor(
    s: Any, dtype: ScalarType | None = None, layout: Any = None, device: Any = None, pin_memory: Any = None
) -> Array:
    made = NUMPY_DTYPES.get(dtype or DEFAULT_DTYPE.dtype)
    array = None if made is None else _make_filled((), s, made)
    return _scalar_tensor_generally(s, dtype=dtype) if array is None else array


_scalar_tensor_generally: Final = creation.KERNELS["scalar_tensor"]
_integers: Final[Any] = np.arange  # whose signatures leave out the dtype by position


@KERNELS("arange.start_step")
def _range(
    start: Any,
    end: Any,
    step: Any = 1,
    dtype: ScalarType | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
) -> Array:
    kinds = {type(start), type(end), type(step)}
    if step and kinds <= _PLAIN and abs(start) < _LARGE and 0 <= (end - start) / step < _FEW:
        if kinds == _ONLY_INT and (dtype is None or dtype is ScalarType.Long):
            made: Array = _integers(start, end, step, _INT64)
            return made
        wanted = NUMPY_DTYPES.get(dtype or DEFAULT_DTYPE.dtype)
        if wanted in NUMBERS and abs(step) < _LARGE:
            # In float64, as torch counts, whatever the dtype.
            counted = _COUNTED[: math.ceil((end - start) / step)]
            made = counted * float(step) if step != 1 else counted.copy()
            if start:
                made += float(start)
            return made if wanted is _FLOAT64 else made.astype(wanted)
    return _range_generally(start, end, step, dtype=dtype)


_PLAIN: Final = frozenset({int, float})
_ONLY_INT: Final = frozenset({int})
_range_generally: Final = creation.KERNELS["arange.start_step"]
#: The first numbers.
_COUNTED: Final = np.arange(_FEW + 1, dtype=np.float64)


@KERNELS("linspace")
def _linspace(
    start: Any,
    end: Any,
    steps: int,
    dtype: ScalarType | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
) -> Array:
    wanted = NUMPY_DTYPES.get(dtype or DEFAULT_DTYPE.dtype)
    is_plain = wanted is _FLOAT32 and 0 < steps < _FEW and type(start) in _PLAIN and type(end) in _PLAIN
    if is_plain and abs(start) < _LARGE and abs(end) < _LARGE:
        return _count_from_both_ends(np.float32(start), np.float32(end), steps)
    return _linspace_generally(start, end, steps, dtype=dtype)


def _count_from_both_ends(first: np.float32, last: np.float32, steps: int) -> Array:
    """Do as `creation` does for ``float32``: the ends and the step are rounded, products and sums are not."""
    made = np.empty(steps, np.float32)
    if steps == 1:
        made.fill(first)
        return made
    half = steps // 2
    distances = _COUNTED[: steps - half] * float((last - first) / np.float32(steps - 1))
    made[:half] = distances[:half] + float(first)
    made[half:] = (float(last) - distances)[::-1]
    return made


_FLOAT32: Final = np.dtype(np.float32)
_linspace_generally: Final = creation.KERNELS["linspace"]


def _make_eye(rows: int, columns: int, dtype: ScalarType | None) -> Array | None:
    made = NUMPY_DTYPES.get(dtype or DEFAULT_DTYPE.dtype)
    if made is None or rows < 0 or columns < 0 or rows * columns > _FEW:
        return None
    array = np.zeros((rows, columns), made)
    if array.size:
        array.reshape(-1)[: min(rows, columns) * columns : columns + 1] = 1
    return array


@KERNELS("eye")
def _eye(
    n: int, dtype: ScalarType | None = None, layout: Any = None, device: Any = None, pin_memory: Any = None
) -> Array:
    array = _make_eye(n, n, dtype)
    return _eye_generally(n, dtype=dtype) if array is None else array


@KERNELS("eye.m")
def _eye_of_two(
    n: int, m: int, dtype: ScalarType | None = None, layout: Any = None, device: Any = None, pin_memory: Any = None
) -> Array:
    array = _make_eye(n, m, dtype)
    return _eye_of_two_generally(n, m, dtype=dtype) if array is None else array


_eye_generally, _eye_of_two_generally = creation.KERNELS["eye"], creation.KERNELS["eye.m"]
