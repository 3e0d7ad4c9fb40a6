"""The kernels: they take and return the device's own arrays; shape rules check arguments and say what results are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

import dispatch_core as dc
from dispatch_aten.dtypes import BY_NAME, ScalarType
from dispatch_aten.shapes import RULES, TensorMeta, wrap_dims

from .arrays import Array, Values, store


def _computed(name: str, function: Callable[..., Any]) -> Callable[..., Array]:
    """Make a kernel of a function of values, which come in the result's dtype unless that is a truth value's."""

    def kernel(*args: Any, **kwargs: Any) -> Array:
        meta = RULES[name](*(arg.meta if isinstance(arg, Array) else arg for arg in args), **kwargs)
        dtype = None if meta.dtype == ScalarType.Bool else str(meta.dtype)
        with np.errstate(all="ignore"):
            values = (np.asarray(arg.values, dtype) if isinstance(arg, Array) else arg for arg in args)
            return store(function(*values, **kwargs), meta)

    return kernel


def _folded(fold: Callable[..., Any]) -> Callable[..., Any]:
    """Make a reduction, whose list of dimensions may be missing, empty, or one number."""
    return lambda x, dim=None, keepdim=False, **_: fold(
        x, axis=wrap_dims(dim, x.ndim) if x.ndim else (), keepdims=keepdim
    )


def _empty_strided(size: Any, stride: Any, *, dtype: ScalarType | None = None, **options: Any) -> Array:
    return store(0, RULES["empty_strided"](size, stride, dtype=dtype))


def _as_strided(self: Array, size: Any, stride: Any, storage_offset: int | None = None) -> Array:
    meta = RULES["as_strided"](self.meta, size, stride, storage_offset)
    return Array(self.buffer, meta.shape, meta.strides, meta.storage_offset)


def _device_put(data: Values, *, device: dc.Device) -> Array:
    steps = tuple(abs(step) // data.itemsize for step in data.strides)
    return store(data, RULES["clone"](TensorMeta(data.shape, steps, BY_NAME[data.dtype.name])))


ATEN: Final[dict[str, Callable[..., Any]]] = {
    "empty_strided": _empty_strided,
    "as_strided": _as_strided,
    "add.Tensor": _computed("add.Tensor", lambda x, y, *, alpha: x + y * np.asarray(alpha).astype(y.dtype)),
    "mul.Tensor": _computed("mul.Tensor", np.multiply),
    "div.Tensor": _computed("div.Tensor", np.true_divide),
    "exp": _computed("exp", np.exp),
    "log": _computed("log", np.log),
    "sqrt": _computed("sqrt", np.sqrt),
    "le.Tensor": _computed("le.Tensor", np.less_equal),
    "where.self": _computed("where.self", np.where),
    "sum.dim_IntList": _computed("sum.dim_IntList", _folded(np.sum)),
    "amax": _computed("amax", _folded(np.max)),
}
PRIMS: Final[dict[str, Callable[..., Any]]] = {
    "device_get": lambda self: self.values.copy(),
    "device_put": _device_put,
}
