"""The device ``jax``: arrays of JAX, on one of its devices or on several."""

from __future__ import annotations

from functools import partial
from operator import attrgetter
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

import dispatch_core as dc
from dispatch_core.planning import note_placing

from .. import jax_meshes, jax_places, jax_random, jax_ranks
from ..backend import ArrayAPIBackend, array_api_backend
from ..error_words import ErrorWords
from ..jax_kernels import KERNELS, assign
from ..library import Array
from ..tracers import in_64_bits, is_following, keep_planned_values, keep_values, read
from ..xla import make_planner

words: Final = ErrorWords()


def _get(array: Array) -> Any:
    if not is_following():  # the planner's trials read nothing that anybody waits for
        words.before_read(array)
    return read(array)


def _put(values: Any) -> Array:
    if isinstance(values, jax.Array):  # from another device, without the host
        return values if values.is_fully_addressable else jax.device_put(read(values))
    # JAX may go on using NumPy's memory, so that it gets a copy; `jnp.array` compiles a copy for each shape.
    return jax.device_put(np.array(values))


class JaxBackend(ArrayAPIBackend):
    """The hooks of the device, with those that tell where its arrays lie."""

    @dc.hookimpl
    def dispatch_register(self, registry: dc.Registry) -> None:
        """Register the kernels; those that keep an array's place where there is more than one device."""
        super().dispatch_register(registry)
        jax_ranks.start()
        if jax_places.several():
            note_placing(dc.device_key("jax"), jax_places.lies_first)

    @dc.hookimpl
    def dispatch_device_interface(self) -> dc.DeviceInterface:
        """Return what JAX offers besides operators."""
        has_several = jax_places.several()
        return dc.DeviceInterface(
            generator=jax_random.KeyEngine,
            placements=jax_meshes,
            properties=jax_places.properties,
            current=jax_places.current if has_several else None,
            exchange=jax_places.exchange if has_several else None,
        )

    @dc.hookimpl
    def dispatch_device_count(self) -> int:
        """Return the number of devices of this process."""
        return jax.local_device_count()


with jax.enable_x64(True):
    backend: Final = array_api_backend(
        "jax",
        jnp,
        array_types=(type(jnp.zeros(())), jax.Array),
        get=_get,
        put=_put,
        assign=assign,
        is_known=lambda array: not isinstance(array, jax.core.Tracer),
        kernels=KERNELS,
        wrappers=jax_places.wrappers(),
        device_index=jax_places.index_of if jax_places.several() else None,
        explain=jax_places.explain,
        layout=attrgetter("shape", "dtype"),
        around=lambda kernel: in_64_bits(keep_values(kernel), jax_places.settle if jax_places.several() else None),
        words=words,
        plugin=JaxBackend,
        make_planner=partial(
            make_planner, words=words, around=lambda function: in_64_bits(keep_planned_values(function))
        ),
    )
