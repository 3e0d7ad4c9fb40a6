"""The device ``jax``: arrays of JAX, on its default device.

Note [64 bits]
    JAX computes in 32 bits unless ``jax_enable_x64`` is set, and makes an int64 array an int32 one without a word. The
    operators' integers are 64 bits wide, so every kernel runs with it on, in its own thread and for as long as it runs: the
    program's own calls of JAX go on as it has set them. They meet 64-bit arrays of ours where it takes their data.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, Final

import jax
import jax.numpy as jnp
import jax.scipy.special

from ..backend import array_api_backend
from ..library import Array, ArrayLibrary
from ..tracers import keep_planned_values, keep_values, read
from ..xla import make_planner


def _in_64_bits(kernel: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(kernel)
    def run(*args: Any, **kwargs: Any) -> Any:
        with jax.enable_x64(True):
            return kernel(*args, **kwargs)

    return run


def _assign(array: Array, key: Any, values: Array, add: bool) -> Array:
    return array.at[key].add(values) if add else array.at[key].set(values)


def _special(name: str) -> Callable[[ArrayLibrary], Callable[..., Any]]:
    from ..kernels.pointwise import unary

    return lambda library: unary(library, name, getattr(jax.scipy.special, name))


with jax.enable_x64(True):
    backend: Final = array_api_backend(
        "jax",
        jnp,
        array_types=(type(jnp.zeros(())), jax.Array),
        get=read,
        put=lambda values: jnp.array(values, copy=True),
        assign=_assign,
        is_known=lambda array: not isinstance(array, jax.core.Tracer),
        kernels={"erf": _special("erf")},
        around=lambda kernel: _in_64_bits(keep_values(kernel)),
        make_planner=partial(make_planner, around=lambda function: _in_64_bits(keep_planned_values(function))),
    )
