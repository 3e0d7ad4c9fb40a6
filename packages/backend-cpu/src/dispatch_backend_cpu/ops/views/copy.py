"""Copies, conversions, and the way from arrays to Python numbers and to other devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from dispatch_aten import host
from dispatch_aten.dtypes import ScalarType
from dispatch_aten.errors import ArgumentTypeError, OperatorError
from dispatch_core import Device
from dispatch_core.frontends import WINDOWS, is_pinned, memory_of

from ...arrays import (
    NUMPY_DTYPES,
    SCALAR_TYPES,
    Array,
    as_array,
    dtype_of,
    empty_strided,
    is_row_major,
    numpy_dtype,
    storage_offset_of,
    strided_view,
)
from ...arrays import storage as storage_of
from ...fp_errors import ignore_fp_errors, quietly, run
from ...halves import FEW, convert
from ...kernel_table import KernelTable
from ...output_specs import infer_output
from ..support.rule_kernels import check_overlap, write

KERNELS: Final = KernelTable()


@ignore_fp_errors
def _fresh(name: str, self: Array, **kwargs: Any) -> Array:
    """Copy into a new array of the layout and dtype that the rule of ``name`` infers."""
    spec = infer_output(name, self, **kwargs)
    return write(empty_strided(spec.shape, spec.strides, spec.array_dtype), self)


@KERNELS("copy_")
def _copy_inplace(self: Array, src: Array, non_blocking: bool = False) -> Array:
    if (
        self.dtype is src.dtype
        and self.shape == src.shape
        and ((_is_whole(self) and _is_whole(src)) or _lie_apart(self, src))
        and self.flags.writeable
    ):
        self[...] = src
        return self
    return _copy_generally(self, src)


def _is_whole(array: Array) -> bool:
    """Return whether an array is a storage of its own; two of them do not overlap, unless NumPy lent both."""
    return (base := array.base) is None or isinstance(base, WINDOWS)


def _lie_apart(self: Array, src: Array) -> bool:
    """Return whether two arrays lie in memory of different owners, and no two elements of ``self`` in one place."""
    own, other = self.base, src.base
    own, other = self if own is None else own, src if other is None else other
    return (
        own is not other
        and type(own) is type(other) is np.ndarray
        and own.base is None
        and other.base is None
        and 0 not in self.strides
    )


@ignore_fp_errors
def _copy_generally(self: Array, src: Array) -> Array:
    check_overlap(self, src)
    if self.shape != src.shape:
        infer_output("copy_", self, src)
    return write(self, src)


@KERNELS("clone")
def _clone(self: Array, *, memory_format: int | None = None) -> Array:
    # NumPy's copy is row-major, as is one that keeps the layout of a row-major array.
    if memory_format is None:
        if (self.ndim < 2 < self.size and self.flags.c_contiguous) or is_row_major(self):
            return self.copy()
    elif not memory_format and self.size:
        return self.copy()
    return _fresh("clone", self, memory_format=memory_format)


@KERNELS("_to_copy")
def _to_copy(
    self: Array,
    *,
    dtype: ScalarType | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
    non_blocking: bool = False,
    memory_format: int | None = None,
) -> Array:
    made = NUMPY_DTYPES.get(dtype)  # type: ignore[arg-type]  # None is no key
    if (
        memory_format is None
        and made is not None
        and (char := made.char) in _PLAIN_CHARS
        and (self.dtype.char in _REAL_CHARS or char in _COMPLEX_CHARS)
        and (size := self.size)
        and is_row_major(self)
    ):
        try:
            return run(self.astype, made) if size <= FEW else quietly(convert, self, made)
        except RuntimeError:  # where the context of `run` is occupied
            return quietly(convert, self, made)
    return _fresh("_to_copy", self, dtype=dtype, memory_format=memory_format)


#: The chars of the dtypes that NumPy converts to as torch does, real ones from such; ``E`` is that of ``bfloat16``.
_REAL_CHARS: Final = frozenset("?bhilBefdE")
_COMPLEX_CHARS: Final = frozenset("FD")
_PLAIN_CHARS: Final = _REAL_CHARS | _COMPLEX_CHARS


def _to_dtype(
    self: Array, dtype: ScalarType, non_blocking: bool = False, copy: bool = False, memory_format: int | None = None
) -> Any:
    if copy or memory_format is not None:
        return NotImplemented
    return self if self.dtype is NUMPY_DTYPES[dtype] else _to_copy(self, dtype=dtype)


def _to_dtype_layout(self: Array, *, dtype: ScalarType, device: Device | None, **options: Any) -> Any:
    if device is not None and device.type != "cpu":
        return NotImplemented
    return _to_dtype(self, dtype, copy=options["copy"], memory_format=options["memory_format"])


def _type_as(self: Array, other: Array) -> Any:
    return NotImplemented if self.dtype is other.dtype else _to_copy(self, dtype=SCALAR_TYPES[other.dtype])


SHORT_WAYS: Final[dict[str, tuple[Callable[..., Any], dict[str, Any]]]] = {
    "to.dtype": (_to_dtype, {"parts": ("_to_copy",), "itself": True}),
    "to.dtype_layout": (_to_dtype_layout, {"parts": ("_to_copy",), "itself": True}),
    "type_as": (_type_as, {"parts": ("to.dtype", "_to_copy")}),
}


@KERNELS("resize_")
def _resize(self: Array, size: Sequence[int], *, memory_format: int | None = None) -> Array:
    """Return ``self`` in a new size: a view where its storage is large enough, else of a larger copy of the storage."""
    spec = infer_output("resize_", self, size, memory_format=memory_format)
    if spec.shape == self.shape and memory_format is None:
        return self
    owner, offset = storage_of(self), storage_offset_of(self)
    held, needed = owner.nbytes // self.itemsize, offset + spec.numel
    if needed <= held or not spec.numel:
        return strided_view(self, spec.shape, spec.strides, offset)
    if isinstance(owner.base, WINDOWS) or is_pinned(memory_of(owner)):
        raise OperatorError(
            "Trying to resize storage that is not resizable",
            argument="self",
            hint="NumPy shares its memory, which keeps its size; clone() the tensor first",
        )
    larger = np.empty(needed, self.dtype)
    larger[:held] = strided_view(self, (held,), (1,), 0)
    return strided_view(larger, spec.shape, spec.strides, offset)


@KERNELS("_local_scalar_dense")
def _local_scalar_dense(self: Array) -> Any:
    infer_output("_local_scalar_dense", self)
    return self.item()


def device_get(self: Array) -> Array:
    """Return a NumPy array of the values; it shares memory with the tensor (``prims::device_get``)."""
    return self


def device_put(data: Any, *, device: Device) -> Array:
    """Make a tensor of a NumPy array, sharing its memory where torch could (``prims::device_put``).

    Raises ``ArgumentTypeError`` for other objects, ``DtypeError`` for dtypes that torch does not know.
    """
    if type(data) is np.ndarray and data.strides in ((), (data.itemsize,)):
        known = SCALAR_TYPES.get(data.dtype)
        if known is not None and NUMPY_DTYPES[known] is data.dtype:
            return data
    if not isinstance(data, (np.ndarray, np.generic)):
        raise ArgumentTypeError(
            f"expected np.ndarray (got {type(data).__name__})", operator="prims::device_put", argument="data"
        )
    array = as_array(data)
    if type(array) is not np.ndarray:
        array = array.view(np.ndarray)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    dtype = numpy_dtype(dtype_of(array))
    if array.dtype is not dtype:
        # Equal dtypes may be different objects (``long`` and ``long long``), which the kernels tell apart by identity.
        array = array.view(dtype)
    if any(stride < 0 or stride % array.itemsize for stride in array.strides):
        array = array.copy()
    return array


def pin_memory(self: Array, device: str) -> Array:
    """Return a copy in memory that a device copies from by itself (``prims::pin_memory``)."""
    spec = infer_output("clone", self)
    array: Array = host.empty_pinned(spec.shape, spec.strides, self.dtype, device)
    array[...] = self
    return array
