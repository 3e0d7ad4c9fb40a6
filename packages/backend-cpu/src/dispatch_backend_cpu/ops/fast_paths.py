"""The short way of element-wise kernels: operands of one dtype go straight to the ufunc.

Note [The short way]
Where a ufunc gives torch's result for two arrays of the same dtype, the kernel calls it before it looks at anything else.
What is left to do afterwards is little: results of two or more dimensions may need another layout (see ``laid_out``), and
whatever went wrong is left to the general kernel, which checks everything and raises torch's error. A kernel's whole budget
is half a microsecond.

Note [Small arrays are written in two steps]
A ufunc that is to write to one of its operands takes twice as long to begin. So for few elements it makes a new array, which
is copied then. Arrays that are storages of their own do not overlap, unless NumPy lent both, which is no fault; and NumPy
itself refuses what is read-only or too big.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from dispatch_core.caches import keep
from dispatch_core.frontends import Window

from ..arrays import Array, laid_out
from ..fp_errors import run
from ..kernel_table import Kernel
from ..output_specs import infer_output
from .rule_kernels import check_overlap, store

__all__ = ["INTO", "NUMBERS", "binary", "inplace_binary", "inplace_unary", "is_small", "unary", "with_number"]

_PLAIN = frozenset({int, float})
"""The types of numbers that need no second look; what a bool or a complex number may do differs between operators."""

Dtypes = frozenset[np.dtype[Any]]
"""The dtypes for which a ufunc gives what torch gives."""


class _Numbers(dict[float, Array]):
    """Numbers as arrays without dimensions of one dtype: NumPy takes longer to make one than to add it."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        super().__init__()
        self._dtype = dtype

    def __missing__(self, number: float) -> Array:
        made: Array = run(np.array, number, self._dtype)
        made.flags.writeable = False
        # Zeros are never kept: 0.0 and -0.0 are equal.
        if number:
            return keep(self, number, made, _KEPT)
        return made


_KEPT = 256
NUMBERS = {dtype: _Numbers(dtype) for dtype in map(np.dtype, "fd")}
"""For float32 and float64, ints and floats as arrays; to ask may raise ``OverflowError``, or ``RuntimeError`` as ``run``."""


def binary(ufunc: Callable[..., Any], general: Kernel, dtypes: Dtypes | None) -> Kernel:
    """Make a kernel of two arrays: ``ufunc`` where both have one of ``dtypes`` (None: any), else ``general``."""

    def kernel(a: Array, b: Array) -> Any:
        if (dtype := a.dtype) is b.dtype and (dtypes is None or dtype in dtypes):
            try:
                r = run(ufunc, a, b)
            except (RuntimeError, ValueError, TypeError):
                pass  # Another thread is inside, or the arguments do not fit: the general kernel sorts it out.
            else:
                if r.ndim > 1 and (1 in r.shape or not (a.flags.c_contiguous and b.flags.c_contiguous)):
                    return laid_out(r, a, b)
                return r
        return general(a, b)

    return kernel


def with_number(ufunc: Callable[..., Any], general: Kernel) -> Kernel:
    """Make a kernel of an array and a Python number, which takes the array's dtype if that is one of `NUMBERS`."""

    def kernel(a: Array, number: Any) -> Any:
        if (numbers := NUMBERS.get(a.dtype)) is not None and type(number) in _PLAIN:
            try:
                b = numbers[number]
                r = run(ufunc, a, b)
            except (RuntimeError, OverflowError):
                pass
            else:
                if r.ndim > 1 and (1 in r.shape or not a.flags.c_contiguous):
                    return laid_out(r, a, b)
                return r
        return general(a, number)

    return kernel


def unary(ufunc: Callable[..., Any], general: Kernel, dtypes: Dtypes) -> Kernel:
    """Make a kernel of one array: ``ufunc`` for ``dtypes``, else ``general``."""

    def kernel(a: Array) -> Any:
        if a.dtype in dtypes:
            try:
                r = run(ufunc, a)
            except RuntimeError:
                pass
            else:
                if r.ndim > 1 and (1 in r.shape or not a.flags.c_contiguous):
                    return laid_out(r, a)
                return r
        return general(a)

    return kernel


def is_small(array: Array) -> bool:
    """Tell whether an array is written in two steps; see Note [Small arrays are written in two steps]."""
    return ((base := array.base) is None or isinstance(base, Window)) and array.size <= _SMALL


_SMALL = 1024


def negative(a: Array, out: Array) -> Array:
    """Do as ``np.negative``, which NumPy 2 gets wrong from and into memory with gaps, such as every fourth ``float32``."""
    if out.flags.c_contiguous:
        return np.negative(a, out)
    out[...] = np.negative(a)
    return out


#: Ufunc → what writes its result into an array, where that is not the ufunc itself.
INTO: Final[dict[Any, Callable[..., Any]]] = {np.negative: negative}


def inplace_unary(name: str, ufunc: Callable[..., Any], functional: Kernel, dtypes: Dtypes) -> Kernel:
    """Make the in-place kernel ``name`` of one array; where ``ufunc`` cannot write it, ``functional`` computes a copy."""
    into = INTO.get(ufunc, ufunc)

    def kernel(self: Array) -> Array:
        check_overlap(self)
        if self.dtype in dtypes:
            try:
                run(into, self, self)
            except RuntimeError:
                pass  # Raised on entry, before anything is written.
            else:
                return self
        infer_output(name, self)
        return store(self, functional(self))

    return kernel


def inplace_binary(name: str, ufunc: Callable[..., Any], functional: Kernel, dtypes: Dtypes | None) -> Kernel:
    """Make the in-place kernel ``name`` of two arrays; where ``ufunc`` cannot write it, ``functional`` computes a copy."""

    def kernel(self: Array, other: Any) -> Array:
        if (
            type(other) is np.ndarray
            and (dtype := self.dtype) is other.dtype
            and (dtypes is None or dtype in dtypes)
            and is_small(self)
            and ((base := other.base) is None or isinstance(base, Window))
            and other.ndim <= self.ndim
        ):
            try:
                self[...] = run(ufunc, self, other)
            except (RuntimeError, ValueError, TypeError):
                pass  # As below.
            else:
                return self
        check_overlap(self, other)
        if (
            isinstance(other, np.ndarray)
            and (dtype := self.dtype) is other.dtype
            and (dtypes is None or dtype in dtypes)
        ):
            try:
                run(ufunc, self, other, self)
            except (RuntimeError, ValueError, TypeError):
                pass  # Raised before anything is written: a busy context, or shapes that do not fit.
            else:
                return self
        infer_output(name, self, other)
        return store(self, functional(self, other))

    return kernel
