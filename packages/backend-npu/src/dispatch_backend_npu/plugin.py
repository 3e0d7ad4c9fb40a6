"""The plugin: the backend's description, the registration of its kernels, and the opening of devices.

Registration loads nothing of the toolkit: every kernel is registered on every machine, and only opening a device can fail.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

import dispatch_core as dc
from dispatch_core.tracebacks import hide_frames

from . import runtime
from .arrays import AclArray
from .kernels import KERNELS, PRIMS, SHORT_WAYS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dispatch_core import PlannedStep, Program

hide_frames(__package__)


@dc.hookimpl
def dispatch_backend_info() -> dc.BackendInfo:
    """Describe the backend: device ``npu``, key NPU, arrays in a device's memory."""
    array = dc.ArrayType(
        AclArray,
        shape=attrgetter("spec.shape"),
        strides=attrgetter("spec.strides"),
        storage_offset=attrgetter("storage_offset"),
        dtype=attrgetter("spec.dtype"),
        device_index=attrgetter("block.device"),
        current_device=runtime.current_device,
        storage=lambda array: id(array.block),
        layout=attrgetter("spec"),
    )
    return dc.BackendInfo("npu", "NPU", (array,), fallback="host")


@dc.hookimpl
def dispatch_register(registry: dc.Registry) -> None:
    """Register every kernel under the key NPU."""
    aten = dc.Library("aten", "IMPL", "NPU", registry=registry)
    for name, kernel in KERNELS.items():
        aten.impl(name, kernel)
    prims = dc.Library("prims", "IMPL", "NPU", registry=registry)
    for name, kernel in PRIMS.items():
        prims.impl(name, kernel)
    # After the kernels, of which a later one would hide them.
    for name, (way, options) in SHORT_WAYS.items():
        aten.short_way(name, way, **options)


@dc.hookimpl
def dispatch_plan(program: Program) -> Iterable[PlannedStep]:
    """Prepare everything first, execute it in order, and wait for it once."""
    from .plan import plan  # plans import the kernels

    return plan(program)


@dc.hookimpl
def dispatch_is_available() -> dc.Availability:
    """Return whether an NPU can be opened and, if not, the reason."""
    reason = runtime.unavailable_reason()
    return dc.Availability(ok=not reason, reason=reason)


@dc.hookimpl
def dispatch_examine() -> Iterable[str]:
    """Yield faults of the toolkit, of its functions, and of the device's memory and streams; none without a toolkit."""
    from .check.examination import find_faults  # only the doctor asks

    return find_faults()


@dc.hookimpl
def dispatch_device_count() -> int:
    """Return the number of NPUs."""
    return runtime.device_count()


@dc.hookimpl
def dispatch_runtime() -> object:
    """Return the module of devices, streams, events and memory."""
    return runtime


@dc.hookimpl
def dispatch_device_interface() -> dc.DeviceInterface:
    """Return the devices, streams, events and memory of the runtime in the core's terms."""
    from .runtime import device_interface  # programs that name no stream and no memory need none of it

    return device_interface.make()


@dc.hookimpl
def dispatch_open_device(index: int | None) -> None:
    """Open a device; the calling thread's own does not change."""
    with runtime.guard(index):
        pass
