"""Kernels that make arrays from sizes and numbers, and that fill them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final

import numpy as np

from dispatch_aten.dtypes import DEFAULT_DTYPE, ScalarType

from . import memory
from .arrays import NUMPY_DTYPES, Array, check_writable, empty_strided
from .fp_errors import ignore_fp_errors
from .kernel_table import Kernel, KernelTable
from .ops.constants import constant
from .ops.rule_kernels import cast
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

    return kernel


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
            except (KeyError, TypeError, ValueError, OverflowError):
                pass  # a size below zero, or a dtype that NumPy lacks
        return general(size, dtype=dtype, **({} if memory_format is None else {"memory_format": memory_format}))

    return kernel


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
        if dtype is None and -1 < prod(size) < _FEW:
            try:
                return make(size, self.dtype)
            except (TypeError, ValueError, OverflowError):
                pass
        return general(self, size, dtype=dtype)

    return kernel


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
        if dtype is None and memory_format is None and 0 < self.size < _FEW:
            array = make(self.shape, self.dtype)
            if array.strides == self.strides:
                return array
        return general(self, dtype=dtype, memory_format=memory_format)

    return kernel


def _make_ones(size: Sequence[int], dtype: np.dtype[Any]) -> Array:
    array = np.empty(size, dtype)
    array.fill(1)
    return array


def _leave_as_is(array: Array, *args: Any) -> None:
    """Leave the memory as it is."""


def _convert_number(value: Any, array: Array) -> Array:
    """Convert a Python number to the array's dtype as C does, where NumPy would refuse a number that does not fit."""
    return cast(value, array.dtype)


#: Elements that are made before the others are copied or counted on from them.
_BLOCK: Final = 1 << 14


def _zeros(array: Array, *args: Any) -> None:
    # Bytes are set in half the time of other elements.
    flat = array.reshape(-1).view(np.uint8) if array.flags.c_contiguous and array.size > _FEW else array
    flat.fill(0)


def _ones(array: Array, *args: Any) -> None:
    array.fill(1)


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
    distances = step * np.arange(steps - half).astype(exact)
    array[:half] = exact.type(first) + distances[:half]
    array[half:] = (exact.type(last) - distances)[::-1]


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


def _tril_indices(array: Array, row: int, col: int, offset: int = 0) -> None:
    array[0], array[1] = np.tri(row, col, offset, np.bool_).nonzero()


def _triu_indices(array: Array, row: int, col: int, offset: int = 0) -> None:
    array[0], array[1] = np.logical_not(np.tri(row, col, offset - 1, np.bool_)).nonzero()


_FILLS: Final = {
    "empty.memory_format": _leave_as_is,
    "empty_strided": _leave_as_is,
    "empty_like": _leave_as_is,
    "new_empty": _leave_as_is,
    "new_empty_strided": _leave_as_is,
    "zeros": _zeros,
    "zeros_like": _zeros,
    "new_zeros": _zeros,
    "ones": _ones,
    "ones_like": _ones,
    "new_ones": _ones,
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
_MAKERS: Final[dict[str, tuple[Callable[..., Array], Callable[..., None]]]] = {
    "empty": (np.empty, _leave_as_is),
    "zeros": (np.zeros, _zeros),
    "ones": (_make_ones, _ones),
}
for _name, (_make, _fill_array) in _MAKERS.items():
    _full_name = _name if _name != "empty" else "empty.memory_format"
    KERNELS[_full_name] = _make_of_size(_make, _fill_array, KERNELS[_full_name])
    for _full_name, _make_form in ((f"{_name}_like", _make_like), (f"new_{_name}", _make_new)):
        KERNELS[_full_name] = _make_form(_make, KERNELS[_full_name])


def _make_full(general: Kernel) -> Kernel:
    def kernel(
        size: Sequence[int],
        fill_value: Any,
        dtype: ScalarType | None = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: Any = None,
    ) -> Array:
        if -1 < prod(size) < _FEW and dtype is None and type(fill_value) is float and abs(fill_value) < _LARGE:
            try:
                array = np.empty(size, NUMPY_DTYPES[DEFAULT_DTYPE.dtype])
                array.fill(fill_value)
                return array
            except (KeyError, TypeError, ValueError):
                pass
        return general(size, fill_value, dtype=dtype)

    return kernel


_integers: Final[Any] = np.arange  # whose signatures leave out the dtype by position
#: Numbers below it fit into every float.
_LARGE: Final = 6e4
KERNELS["full"] = _make_full(KERNELS["full"])


def _make_range(general: Kernel) -> Kernel:
    def kernel(
        start: Any,
        end: Any,
        step: Any = 1,
        dtype: ScalarType | None = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: Any = None,
    ) -> Array:
        is_plain = type(start) is type(end) is type(step) is int and (dtype is None or dtype is ScalarType.Long)
        if is_plain and step and 0 <= (end - start) * step < _FEW:
            made: Array = _integers(start, end, step, np.int64)
            return made
        return general(start, end, step, dtype=dtype)

    return kernel


KERNELS["arange.start_step"] = _make_range(KERNELS["arange.start_step"])


@KERNELS("fill_.Scalar", "fill_.Tensor")
def _fill_inplace(self: Array, value: Any) -> Array:
    filler = constant(value, self.dtype)
    if filler is not None and self.flags.writeable:
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
    check_writable(self, expanded=True)
    _zeros(self)
    return self
