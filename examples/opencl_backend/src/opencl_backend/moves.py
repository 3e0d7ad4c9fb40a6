"""Copies from and to the host, new arrays, views, and the two kernels that write: these make all others possible."""

from __future__ import annotations

import functools
from typing import Any, Final

import numpy as np
import pyopencl as cl

import dispatch_core as dc
from dispatch_aten.dtypes import BY_NAME
from dispatch_aten.shapes import RULES, TensorMeta, check_storage, contiguous

from .arrays import Array, check_dtype, empty, write
from .elementwise import compute
from .memory import submit
from .nest import Code, Operand, run


def _device_get(self: Array) -> Any:
    """Return NumPy's array of the values."""
    host = np.empty(self.shape, self.dtype.short)
    if host.size:
        download(self if self.spec.is_contiguous else _compact(self), host).wait()
    return host


def download(self: Array, host: Any) -> Any:
    """Copy a row-major array to one of the host, which goes on meanwhile; return the command, which keeps both."""
    copy = functools.partial(cl.enqueue_copy, src_offset=self.storage_offset * host.itemsize, is_blocking=False)
    return submit(copy, host, self.block.buffer, reads=[self.block])


def upload(values: Any, index: int | None = None) -> Array:
    """Return an array with the values of an array in pinned memory, which are copied while the host goes on."""
    result = empty(contiguous(values.shape, BY_NAME[values.dtype.name]), index)
    host = np.ascontiguousarray(values)  # itself where it is row-major; the command keeps it
    if values.size:
        copy = functools.partial(cl.enqueue_copy, is_blocking=False)
        submit(copy, result.block.buffer, host, writes=[result.block])
    return result


def _compact(self: Array) -> Array:
    """Return a row-major copy."""
    return _copy(empty(contiguous(self.shape, self.dtype), self.block.index), self)


def _device_put(data: Any, *, device: dc.Device) -> Array:
    steps = tuple(abs(step) // data.itemsize for step in data.strides)
    spec = RULES["clone"](TensorMeta(data.shape, steps, BY_NAME[data.dtype.name]))
    check_dtype(spec)
    # A copy of its own, in the order of its memory: the caller may change the values while the command waits.
    host = np.empty(spec.numel, data.dtype)
    np.lib.stride_tricks.as_strided(host, spec.shape, [step * host.itemsize for step in spec.strides])[...] = data
    return Array(upload(host, device.index).block, spec)


def _empty_strided(size: Any, stride: Any, *, dtype: Any = None, device: Any = None, **options: Any) -> Array:
    return empty(RULES["empty_strided"](size, stride, dtype=dtype), device and device.index)


def _as_strided(self: Array, size: Any, stride: Any, storage_offset: int | None = None) -> Array:
    meta = RULES["as_strided"](self.meta, size, stride, storage_offset)
    check_storage(meta, self.block.nbytes // self.dtype.itemsize)
    return Array(self.block, meta)


def _view(self: Array, dtype: Any) -> Array:
    meta = RULES["view.dtype"](self.meta, dtype)
    check_dtype(meta)
    return Array(self.block, meta)


@dc.KernelTraits(crosses_devices=True)  # one context has all devices, whose kernels read each other's buffers
def _copy(self: Array, src: Array, non_blocking: bool = False) -> Array:
    RULES["copy_"](self.spec, src.spec)
    if src.block is self.block and src.meta != self.meta:
        src = _compact(src)  # its elements may be written to before they are read
    compute("copy_", self, (src,))
    return self


def _fill(self: Array, value: Any) -> Array:
    RULES["fill_.Scalar"](self.spec, value)
    run(Code(write(self.dtype.short, 0, "p0", "n0")), [Operand(self, self.strides)], self.shape, numbers=[value])
    return self


ATEN: Final[dict[str, Any]] = {
    "empty_strided": _empty_strided,
    "as_strided": _as_strided,
    "view.dtype": _view,
    "copy_": _copy,
    "fill_.Scalar": _fill,
}
PRIMS: Final[dict[str, Any]] = {"device_get": _device_get, "device_put": _device_put}
