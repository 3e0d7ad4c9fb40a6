"""Scattered reductions by ``Array.at``."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jnp

from dispatch_aten.shapes import wrap_dim

from ..library import Array, ArrayLibrary
from .support import by_rules

#: Reduction → the method that reduces, of numbers and of bools as bytes.
_METHODS: Final = {
    "sum": ("add", "max"),
    "mean": ("add", "max"),
    "prod": ("multiply", "min"),
    "amax": ("max", "max"),
    "amin": ("min", "min"),
}


def _identity(reduce: str, dtype: Any) -> Any:
    """Return the number that a reduction begins with where it leaves the array's own elements out."""
    if reduce not in ("amax", "amin"):
        return int(reduce == "prod")
    if jnp.issubdtype(dtype, jnp.integer):
        return jnp.iinfo(dtype).min if reduce == "amax" else jnp.iinfo(dtype).max
    return -jnp.inf if reduce == "amax" else jnp.inf


@partial(jax.jit, static_argnames=("axis", "reduce", "include_self"))
def _reduce(array: Array, index: Array, src: Array, *, axis: int, reduce: str, include_self: bool) -> Array:
    is_bool, dtype = array.dtype == bool, array.dtype
    if is_bool or (dtype.itemsize == 2 and jnp.issubdtype(dtype, jnp.floating)):  # small floats are rounded once
        wide = jnp.uint8 if is_bool else jnp.float32
        array, src = array.astype(wide), src.astype(wide)
    places = [*jnp.ogrid[tuple(slice(size) for size in index.shape)]]
    places[axis] = index
    if not include_self:
        start = int(reduce in ("prod", "amin")) if is_bool else _identity(reduce, array.dtype)
        array = array.at[tuple(places)].set(start)
    part = array.at[tuple(places)]
    found = getattr(part, _METHODS[reduce][is_bool])(src)
    if reduce == "mean" and not is_bool:
        counts = jnp.full(array.shape, int(include_self), jnp.int64).at[tuple(places)].add(1)
        counts = jnp.maximum(counts, 1).astype(found.dtype)
        found = jnp.floor_divide(found, counts) if jnp.issubdtype(found.dtype, jnp.integer) else found / counts
    return found.astype(dtype)


def _scatter_reduce(
    library: ArrayLibrary,
    spec: Any,
    self: Array,
    dim: int,
    index: Array,
    src: Array,
    reduce: str,
    *,
    include_self: bool = True,
) -> Array:
    if not index.size:
        return self
    wide, index, src = (each if each.ndim else each.reshape(1) for each in (self, index, src))
    source = src[tuple(slice(size) for size in index.shape)]
    axis = wrap_dim(dim, wide.ndim)
    found = _reduce(wide, index, source, axis=axis, reduce=reduce, include_self=include_self)
    return found if self.ndim else found.reshape(())


#: Operator → function of the library that makes the kernel.
KERNELS: Final = by_rules({"scatter_reduce.two": _scatter_reduce})
