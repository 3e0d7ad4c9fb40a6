"""The plugin: the backend's description, and the registration of its kernels."""

from __future__ import annotations

from operator import attrgetter

import dispatch_core as dc
from dispatch_core.tracebacks import hide_frames

from .arrays import MetaArray
from .kernels import KERNELS, PRIMS

hide_frames(__package__)


@dc.hookimpl
def dispatch_backend_info() -> dc.BackendInfo:
    """Describe the backend: device ``meta``, key Meta, arrays without data."""
    array = dc.ArrayType(
        MetaArray,
        shape=attrgetter("spec.shape"),
        strides=attrgetter("spec.strides"),
        storage_offset=attrgetter("storage_offset"),
        dtype=attrgetter("spec.dtype"),
        storage=lambda array: array.storage,
        empty=MetaArray,
        layout=lambda array: (array.shape, array.strides, array.dtype),
    )
    return dc.BackendInfo("meta", "Meta", (array,))


@dc.hookimpl
def dispatch_register(registry: dc.Registry) -> None:
    """Register every kernel under the key Meta, for operators of the library when they are defined."""
    aten, prims = (dc.Library(namespace, "IMPL", "Meta", registry=registry) for namespace in ("aten", "prims"))
    aten.impl_lazily(KERNELS.get)
    for name, kernel in PRIMS.items():
        prims.impl(name, kernel)


@dc.hookimpl
def dispatch_is_available() -> bool:
    """Return True: arrays without data need nothing."""
    return True
