"""Making, copying and converting arrays, joining them, and moving them to the host and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dispatch_core as dc
from dispatch_aten.dtypes import BY_NAME, ScalarType, get_default_dtype
from dispatch_aten.shapes import RULES

from ..library import Array, ArrayLibrary, Kernel, sample


def make(library: ArrayLibrary) -> dict[str, Kernel]:
    """Return the kernels for a library."""
    xp = library.xp

    def empty(size: Sequence[int], *, dtype: ScalarType | None = None, **options: Any) -> Array:
        return xp.empty(tuple(size), dtype=library.dtype(dtype or get_default_dtype()), **library.options)

    def full(size: Sequence[int], fill_value: Any, *, dtype: ScalarType | None = None, **options: Any) -> Array:
        return library.full(size, fill_value, dtype or dc.promote(sample(fill_value)))

    def clone(self: Array, *, memory_format: int | None = None) -> Array:
        return xp.asarray(self, copy=True)

    def fill(self: Array, value: Any) -> Array:
        return library.full(self.shape, value, library.dtype_of(self))

    def copy(self: Array, src: Array, non_blocking: bool = False) -> Array:
        values = library.cast(src, library.dtype_of(self))
        return values if values.shape == self.shape else xp.broadcast_to(values, tuple(self.shape))

    def cat(tensors: Sequence[Array], dim: int = 0) -> Array:
        meta = RULES["cat"]([library.meta(each) for each in tensors], dim)
        parts = [library.cast(each, meta.dtype) for each in tensors if tuple(each.shape) != (0,) or meta.shape == (0,)]
        return (
            xp.concat(parts, axis=dim) if len(parts) > 1 else parts[0] if parts else library.full((0,), 0, meta.dtype)
        )

    def device_get(self: Array) -> Any:
        return library.get(self)

    def device_put(data: Any, *, device: dc.Device) -> Array:
        library.dtype(BY_NAME.get(str(data.dtype), ScalarType.ComplexHalf))
        return library.put(data)

    return {
        "full": full,
        "clone": clone,
        "empty.memory_format": empty,
        "fill.Scalar": fill,
        "copy": copy,
        "cat": cat,
        "prims::device_get": device_get,
        "prims::device_put": device_put,
    }
