"""JAX's own functions where they are better than the standard's, or where it has none."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jnp
import jax.scipy.special

from . import jax_functions, jax_meshes, jax_places, jax_random
from .kernels.pointwise import binary, unary
from .library import Array, ArrayLibrary, Kernel
from .xla import write_slice

__all__ = ["KERNELS", "assign"]


@partial(jax.jit, static_argnames="add")
def _assign_rows(array: Array, rows: Array, values: Array, *, add: bool) -> Array:
    if not add:
        return array.at[rows].set(values)
    # The sum of bools is whether one of them is true, as in torch; JAX adds none.
    return array.at[rows].max(values) if array.dtype == bool else array.at[rows].add(values)


def assign(array: Array, key: Any, values: Array, add: bool) -> Array:
    """Return an array with other values, or values added, at a key."""
    return _assign_rows(array, key, values, add=add) if isinstance(key, jax.Array) else array.at[key].set(values)


# The start is an argument, so that each one does not have code of its own.
_cut_out = jax.jit(jax.lax.dynamic_slice_in_dim, static_argnums=(2, 3))
_paste = jax.jit(jax.lax.dynamic_update_slice_in_dim, static_argnums=3)


def _slice(array: Array, dim: int, start: int, end: int, step: int) -> Array:
    if step == 1:
        return _cut_out(array, start, end - start, dim)
    return jax.lax.slice_in_dim(array, start, end, step, dim)


def _slice_scatter(array: Array, src: Array, dim: int, start: int, end: int, step: int) -> Array:
    if isinstance(src, jax.core.Tracer) or isinstance(array, jax.core.Tracer):
        return write_slice(array, src, dim, start, end, step)
    if step == 1:
        return _paste(array, src, start, dim)
    return array.at[(slice(None),) * dim + (slice(start, end, step),)].set(src)


def _floor_divide(one: Array, other: Array) -> Array:
    """Return the quotient rounded down; zeros have the quotient's sign, as in torch."""
    found = jnp.floor_divide(one, other)
    if not jnp.issubdtype(found.dtype, jnp.floating):
        return found
    return jnp.where(found == 0, jnp.copysign(found, one / other), found)


def _nll_loss_backward(
    grad_output: Array,
    self: Array,
    target: Array,
    weight: Array | None,
    reduction: int,
    ignore_index: int,
    total_weight: Array,
) -> Array:
    """Return the gradient, a choice by row: a scatter would gather the rows of all devices."""
    rows = jnp.atleast_2d(self)
    target = target.reshape(-1)
    ignored = target == ignore_index
    scale = jnp.full(target.shape, -1, self.dtype) if weight is None else -weight[jnp.where(ignored, 0, target)]
    grad = grad_output / total_weight if reduction == 1 else grad_output
    scale = jnp.where(ignored, 0, scale * (grad.reshape(-1) if reduction == 0 else grad))
    chosen = jnp.arange(rows.shape[1]) == target[:, None]
    return jnp.where(chosen, scale[:, None], 0).astype(self.dtype).reshape(self.shape)


#: Operator → function of the library that makes the kernel.
KERNELS: Final[dict[str, Callable[[ArrayLibrary], Kernel]]] = {
    "erf": lambda library: unary(library, "erf", jax.scipy.special.erf),
    "floor_divide": lambda library: binary(library, "floor_divide", _floor_divide),
    "nll_loss_backward": lambda library: _nll_loss_backward,
    "prims::slice": lambda library: _slice,
    "prims::slice_scatter": lambda library: _slice_scatter,
    "dispatch::place_like": lambda library: jax_places.place_like,
    **jax_functions.KERNELS,
    **jax_meshes.KERNELS,
    **jax_random.KERNELS,
}
