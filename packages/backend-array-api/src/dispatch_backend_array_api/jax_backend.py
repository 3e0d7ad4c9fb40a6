"""What the device ``jax`` has besides the kernels of the standard: hooks for its devices, and kernels that suit meshes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import jax
import jax.numpy as jnp

import dispatch_core as dc
from dispatch_core.planning import note_placing

from . import jax_meshes, jax_places
from .backend import ArrayAPIBackend
from .library import Array

__all__ = ["KERNELS", "JaxBackend"]


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


class JaxBackend(ArrayAPIBackend):
    """The hooks of the device, with those that tell where its arrays lie."""

    @dc.hookimpl
    def dispatch_register(self, registry: dc.Registry) -> None:
        """Register the kernels; those that keep an array's place where there is more than one device."""
        super().dispatch_register(registry)
        if jax_places.several():
            note_placing(dc.device_key("jax"))

    @dc.hookimpl
    def dispatch_device_interface(self) -> dc.DeviceInterface:
        """Return what JAX offers besides operators."""
        return dc.DeviceInterface(placements=jax_meshes, properties=jax_places.properties)

    @dc.hookimpl
    def dispatch_device_count(self) -> int:
        """Return the number of devices of this process."""
        return jax.local_device_count()


#: The kernels of arrays on meshes.
KERNELS: Final[dict[str, Callable[[Any], Any]]] = {
    **jax_meshes.KERNELS,
    "dispatch::place_like": lambda library: jax_places.place_like,
    "nll_loss_backward": lambda library: _nll_loss_backward,
}
