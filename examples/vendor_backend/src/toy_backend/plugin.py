"""The plugin: the description of the device ``toy``, and the registration of its kernels."""

from __future__ import annotations

import dispatch_core as dc

from . import kernels, writes
from .arrays import Array


@dc.hookimpl
def dispatch_backend_info() -> dc.BackendInfo:
    """Describe the backend: its device, its key, its arrays and how to read them."""
    array = dc.ArrayType(
        Array,
        shape=lambda array: array.shape,
        strides=lambda array: array.strides,
        storage_offset=lambda array: array.offset,
        dtype=lambda array: array.dtype,
        storage=lambda array: id(array.buffer),
        mutable=True,
    )
    return dc.BackendInfo("toy", dispatch_key="PrivateUse1", array_types=(array,))


@dc.hookimpl
def dispatch_register(registry: dc.Registry) -> None:
    """Register every kernel under the backend's own key."""
    for namespace, table in (("aten", kernels.ATEN), ("aten", writes.ATEN), ("prims", kernels.PRIMS)):
        library = dc.Library(namespace, "IMPL", dc.device_key("toy"), registry=registry)
        for name, kernel in table.items():
            library.impl(name, kernel)


@dc.hookimpl
def dispatch_is_available() -> bool:
    """Return True: the device is simulated."""
    return True


@dc.hookimpl
def dispatch_device_count() -> int:
    """Return 1, so that ``toy:1`` is refused."""
    return 1
