"""Kernels of complex numbers."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from dispatch_aten.promotion import Promotion
from dispatch_aten.shapes import RULES, TensorMeta

from ..arrays import Array, dtype_of, empty_strided, reinterpret, storage_offset_of, strides_of
from ..kernel_table import Kernel, KernelTable
from ..output_specs import OutputSpec, output_rule
from .rule_kernels import make_elementwise, make_kernel

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
for _name in ("view_as_real", "view_as_complex", "view.dtype"):
    KERNELS[_name] = view_of_dtype(_name)
