"""The plugin: the description of the device ``opencl``, its interface, and its hooks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import pyopencl as cl

import dispatch_core as dc
from dispatch_aten.dtypes import BY_NAME
from dispatch_core.tracebacks import hide_frames

from . import driver, elementwise, errors, events, indexing, memory, moves, plan, reductions, streams
from .arrays import C_TYPES, Array

hide_frames(__package__)  # errors and warnings show the user's line


def _properties(index: int) -> dict[str, Any]:
    device, units = driver.find_devices()[index], "multi_processor_count"
    facts = {"name": device.name, "vendor": device.vendor, "version": device.version}
    return {**facts, "total_memory": memory.total_memory(index), units: device.max_compute_units}


INTERFACE: Final = dc.DeviceInterface(
    properties=_properties,
    current=driver.current_device,
    exchange=driver.exchange_device,
    initialized=driver.is_open,
    synchronize=streams.synchronize_device,
    streams=streams,
    events=events,
    timed_event=events.create,
    memory=memory,
    empty_cache=memory.empty_cache,
    out_of_memory=memory.OutOfMemoryError,
    host_allocator=memory.allocate_on_host,
    upload=moves.upload,
    download=moves.download,
    launched=errors.note_launch,
    reports=errors.reports,
    dtypes=tuple(BY_NAME[name] for name in C_TYPES),
    queue=lambda function, *arguments: function(*arguments),
)


@dc.hookimpl
def dispatch_backend_info() -> dc.BackendInfo:
    """Describe the backend: its device and its arrays. The host computes what has no kernel here and composes of none."""
    array = dc.ArrayType(
        Array,
        shape=lambda array: array.spec.shape,
        strides=lambda array: array.spec.strides,
        storage_offset=lambda array: array.storage_offset,
        dtype=lambda array: array.spec.dtype,
        storage=lambda array: id(array.block),
        layout=lambda array: array.spec,
        device_index=lambda array: array.block.index,
        current_device=driver.current_device,
        mutable=True,
    )
    return dc.BackendInfo("opencl", array_types=(array,), fallback="host")


@dc.hookimpl
def dispatch_register(registry: dc.Registry) -> None:
    """Register every kernel under the backend's own key."""
    aten = moves.ATEN | elementwise.ATEN | reductions.ATEN | indexing.ATEN
    for namespace, kernels in (("aten", aten), ("prims", moves.PRIMS)):
        library = dc.Library(namespace, "IMPL", dc.device_key("opencl"), registry=registry)
        for name, kernel in kernels.items():
            library.impl(name, kernel)


@dc.hookimpl
def dispatch_is_available() -> dc.Availability:
    """Return whether a driver is installed and, if not, the reason."""
    try:
        found = driver.find_devices()
    except cl.Error as error:
        reason = f"no OpenCL driver is installed ({error}); `pip install pocl-binary-distribution`"
        return dc.Availability(False, reason)
    return dc.Availability(bool(found), "" if found else "no OpenCL device here computes in double precision")


@dc.hookimpl
def dispatch_device_count() -> int:
    """Count the devices; a processor counts as two."""
    return len(driver.find_devices())


@dc.hookimpl
def dispatch_open_device(index: int | None) -> None:
    """Open the devices."""
    driver.open_context()


@dc.hookimpl
def dispatch_plan(program: dc.Program) -> Iterable[dc.PlannedStep]:
    """Plan a pipeline."""
    return plan.make_plan(program)


@dc.hookimpl
def dispatch_device_interface() -> dc.DeviceInterface:
    """Return what the device offers besides operators."""
    return INTERFACE
