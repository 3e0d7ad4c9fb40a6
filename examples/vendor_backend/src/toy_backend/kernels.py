"""The kernels: they take and return the device's own arrays; shape rules check arguments and describe results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

import dispatch_core as dc
from dispatch_aten.dtypes import BY_NAME, ScalarType
from dispatch_aten.shapes import RULES, TensorMeta, check_storage, wrap_dims

from .arrays import Array, Values, store


def _make_kernel(name: str, function: Callable[..., Any]) -> Callable[..., Array]:
    """Make a kernel of a function of values, which are converted to the result's dtype unless that is bool."""

    def kernel(*args: Any, **kwargs: Any) -> Array:
        meta = RULES[name](*(arg.meta if isinstance(arg, Array) else arg for arg in args), **kwargs)
        dtype = None if meta.dtype == ScalarType.Bool else meta.dtype.short
        with np.errstate(all="ignore"):
            values = (np.asarray(arg.values, dtype) if isinstance(arg, Array) else arg for arg in args)
            return store(function(*values, **kwargs), meta)

    return kernel


def _reduce(fold: Callable[..., Any]) -> Callable[..., Any]:
    """Make a reduction, whose list of dimensions may be None, empty, or one number."""
    return lambda x, dim=None, keepdim=False, **_: fold(
        x, axis=wrap_dims(dim, x.ndim) if x.ndim else (), keepdims=keepdim
    )


def _empty_strided(size: Any, stride: Any, *, dtype: ScalarType | None = None, **options: Any) -> Array:
    return store(0, RULES["empty_strided"](size, stride, dtype=dtype))


def _as_strided(self: Array, size: Any, stride: Any, storage_offset: int | None = None) -> Array:
    meta = RULES["as_strided"](self.meta, size, stride, storage_offset)
    check_storage(meta, self.buffer.size)
    return Array(self.buffer, meta.shape, meta.strides, meta.storage_offset)


def _device_put(data: Values, *, device: dc.Device) -> Array:
    steps = tuple(abs(step) // data.itemsize for step in data.strides)
    return store(data, RULES["clone"](TensorMeta(data.shape, steps, BY_NAME[data.dtype.name])))


ATEN: Final[dict[str, Callable[..., Any]]] = {
    "empty_strided": _empty_strided,
    "as_strided": _as_strided,
    "add.Tensor": _make_kernel("add.Tensor", lambda x, y, *, alpha: x + y * np.asarray(alpha).astype(y.dtype)),
    "mul.Tensor": _make_kernel("mul.Tensor", np.multiply),
    "div.Tensor": _make_kernel("div.Tensor", np.true_divide),
    "exp": _make_kernel("exp", np.exp),
    "log": _make_kernel("log", np.log),
    "sqrt": _make_kernel("sqrt", np.sqrt),
    "le.Tensor": _make_kernel("le.Tensor", np.less_equal),
    "where.self": _make_kernel("where.self", np.where),
    "sum.dim_IntList": _make_kernel("sum.dim_IntList", _reduce(np.sum)),
    "amax": _make_kernel("amax", _reduce(np.max)),
}
PRIMS: Final[dict[str, Callable[..., Any]]] = {
    "device_get": lambda self: self.values.copy(),
    "device_put": _device_put,
}
