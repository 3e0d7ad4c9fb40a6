"""The plugin: the description of the cpu backend, and the registration of its kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import dispatch_core as dc
from dispatch_core.frontends import memory_of
from dispatch_core.tracebacks import hide_frames

from .arrays import coerce, copy_span, dtype_of, shape_of, storage_offset_of, strides_of
from .kernels import KERNELS, PRIMS, SHORT_WAYS, SPECIALIZED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dispatch_core import PlannedStep, Program

hide_frames(__package__)


@dc.hookimpl
def dispatch_backend_info() -> dc.BackendInfo:
    """Describe the backend: device ``cpu``, key CPU, arrays of NumPy."""
    array = dc.ArrayType(
        np.ndarray,
        shape=shape_of,
        strides=strides_of,
        storage_offset=storage_offset_of,
        dtype=dtype_of,
        coerce=coerce,
        storage=lambda array: id(memory_of(array)),
        layout=lambda array: (array.shape, array.strides, array.dtype),
        copy_span=copy_span,
    )
    return dc.BackendInfo("cpu", "CPU", (array,))


@dc.hookimpl
def dispatch_register(registry: dc.Registry) -> None:
    """Register every kernel under the key CPU."""
    aten, prims = (dc.Library(namespace, "IMPL", "CPU", registry=registry) for namespace in ("aten", "prims"))
    for name, kernel in KERNELS.items():
        aten.impl(name, kernel)
    for name, kernel in SPECIALIZED.items():
        aten.impl(name, kernel, when=("alpha", 1))
    for name, kernel in PRIMS.items():
        prims.impl(name, kernel)
    # After the kernels, of which a later one would hide them.
    for name, (way, options) in SHORT_WAYS.items():
        aten.short_way(name, way, **options)


@dc.hookimpl
def dispatch_plan(program: Program) -> Iterable[PlannedStep]:
    """Run chains of element-wise operators together."""
    from .plan import plan  # not needed before there is a program

    return plan(program)


@dc.hookimpl
def dispatch_device_interface() -> dc.DeviceInterface:
    """Return the collectives, the one part that the cpu has."""
    from .collectives import Collectives  # most programs are one process

    return dc.DeviceInterface(collectives=Collectives())


@dc.hookimpl
def dispatch_is_available() -> dc.Availability:
    """Return that it is, as every machine has a cpu."""
    return dc.Availability(ok=True)
