"""Kernels of complex numbers."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from dispatch_aten.promotion import Promotion
from dispatch_aten.shapes import RULES, TensorMeta

from ...arrays import (
    NUMPY_DTYPES,
    Array,
    dtype_of,
    empty_strided,
    is_row_major,
    reinterpret,
    storage_offset_of,
    strides_of,
)
from ...kernel_table import Kernel, KernelTable
from ...output_specs import OutputSpec, output_rule
from ..support.rule_kernels import make_elementwise, make_kernel

KERNELS: Final = KernelTable()


def _join(spec: OutputSpec, real: Array, imag: Array) -> Array:
    found = empty_strided(spec.shape, spec.strides, spec.array_dtype)
    found.real, found.imag = real, imag
    return found


def _angle(a: Array) -> Any:
    """Return the angle in the plane; a negative zero lies on the positive axis."""
    if a.dtype.kind == "c":
        return np.angle(a)
    return np.where(np.isnan(a), a, np.where(a < 0, np.array(np.pi, a.dtype), np.zeros((), a.dtype)))


def view_of_dtype(name: str) -> Kernel:
    """Make the kernel of a view with another dtype."""
    infer, check = output_rule(name), RULES[name]

    def kernel(self: Array, *args: Any) -> Array:
        if offset := storage_offset_of(self):
            check(TensorMeta(self.shape, strides_of(self), dtype_of(self), offset), *args)
        spec = infer(self, *args)
        return reinterpret(self, spec.array_dtype, spec.shape, spec.byte_strides)

    return kernel


KERNELS["complex"] = make_kernel("complex", _join)
KERNELS["angle"] = make_elementwise("angle", _angle, 1, promotion=Promotion.INT_TO_FLOAT)
_BY_RULE: Final = {name: view_of_dtype(name) for name in ("view_as_real", "view_as_complex", "view.dtype")}
#: The dtypes of complex numbers, and those of their parts.
_PARTS: Final[dict[Any, Any]] = {
    np.dtype(np.complex64): np.dtype(np.float32),
    np.dtype(np.complex128): np.dtype(np.float64),
}
_WHOLE: Final[dict[Any, Any]] = {part: whole for whole, part in _PARTS.items()}


@KERNELS("view_as_real")
def _view_as_real(self: Array) -> Array:
    part = _PARTS.get(self.dtype)
    if part is not None and self.ndim and is_row_major(self):
        return self.view(part).reshape(*self.shape, 2)
    return _BY_RULE["view_as_real"](self)


@KERNELS("view_as_complex")
def _view_as_complex(self: Array) -> Array:
    whole = _WHOLE.get(self.dtype)
    # Of a view it has to be known where it begins.
    if whole is not None and self.base is None and self.ndim and self.shape[-1] == 2 and is_row_major(self):
        return self.view(whole).reshape(self.shape[:-1])
    return _BY_RULE["view_as_complex"](self)


@KERNELS("view.dtype")
def _view_as_dtype(self: Array, dtype: Any) -> Array:
    wanted = NUMPY_DTYPES.get(dtype)
    if wanted is not None and self.size and wanted.itemsize == self.itemsize and wanted.isbuiltin == 1:
        return self.view(wanted)
    return _BY_RULE["view.dtype"](self, dtype)
