"""The device ``jax``: arrays of JAX, on one of its devices or on several."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jnp
import jax.scipy.special
import numpy as np

from .. import jax_places
from ..backend import array_api_backend
from ..error_words import ErrorWords
from ..jax_backend import KERNELS, JaxBackend
from ..kernels.pointwise import binary, unary
from ..library import Array
from ..tracers import in_64_bits, is_following, keep_planned_values, keep_values, read
from ..xla import make_planner, write_slice


@partial(jax.jit, static_argnames="add")
def _assign_rows(array: Array, rows: Array, values: Array, *, add: bool) -> Array:
    if not add:
        return array.at[rows].set(values)
    return array.at[rows].max(values) if array.dtype == bool else array.at[rows].add(values)


def _assign(array: Array, key: Any, values: Array, add: bool) -> Array:
    return _assign_rows(array, key, values, add=add) if isinstance(key, jax.Array) else array.at[key].set(values)


# The start is an argument: each one would have code of its own.
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


words: Final = ErrorWords()


def _get(array: Array) -> Any:
    if not is_following():  # the planner's trials read nothing that anybody waits for
        words.before_read(array)
    return read(array)


def _put(values: Any) -> Array:
    # JAX may go on using NumPy's memory, so that it gets a copy; `jnp.array` compiles a copy for each shape.
    return jax.device_put(np.array(values))


with jax.enable_x64(True):
    backend: Final = array_api_backend(
        "jax",
        jnp,
        array_types=(type(jnp.zeros(())), jax.Array),
        get=_get,
        put=_put,
        assign=_assign,
        is_known=lambda array: not isinstance(array, jax.core.Tracer),
        kernels={
            "erf": lambda library: unary(library, "erf", jax.scipy.special.erf),
            "floor_divide": lambda library: binary(library, "floor_divide", _floor_divide),
            "prims::slice": lambda library: _slice,
            "prims::slice_scatter": lambda library: _slice_scatter,
            **KERNELS,
        },
        wrappers=jax_places.wrappers(),
        device_index=jax_places.index_of if jax_places.several() else None,
        explain=jax_places.explain,
        around=lambda kernel: in_64_bits(keep_values(kernel), jax_places.settle if jax_places.several() else None),
        words=words,
        plugin=JaxBackend,
        make_planner=partial(
            make_planner, words=words, around=lambda function: in_64_bits(keep_planned_values(function))
        ),
    )
