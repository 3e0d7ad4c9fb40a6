"""The plugin: the description of the device ``opencl``, and its hooks."""

from __future__ import annotations

from collections.abc import Iterable

import pyopencl as cl

import dispatch_core as dc

from . import driver, elementwise, indexing, moves, plan, reductions, sorting
from .arrays import Array
from .interface import INTERFACE, synchronize


@dc.hookimpl
def dispatch_backend_info() -> dc.BackendInfo:
    """Describe the backend: its device and its arrays. Linear algebra, which has no kernels here, is the host's."""
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
    aten = (moves.ATEN, elementwise.ATEN, reductions.ATEN, indexing.ATEN, sorting.ATEN)
    for namespace, tables in (("aten", aten), ("prims", (moves.PRIMS,))):
        library = dc.Library(namespace, "IMPL", dc.device_key("opencl"), registry=registry)
        for table in tables:
            for name, kernel in table.items():
                library.impl(name, kernel)


@dc.hookimpl
def dispatch_is_available() -> dc.Availability:
    """Return whether a driver is installed and, if not, the reason."""
    try:
        found = driver.find_devices()
    except cl.Error as error:
        return dc.Availability(
            False, f"no OpenCL driver is installed ({error}); `pip install pocl-binary-distribution`"
        )
    return dc.Availability(
        bool(found), "" if found else "no OpenCL device of this machine computes in double precision"
    )


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
    return list(plan.make_plan(program))


@dc.hookimpl
def dispatch_device_interface() -> dc.DeviceInterface:
    """Return what the device offers besides operators."""
    return INTERFACE


@dc.hookimpl
def dispatch_synchronize() -> None:
    """Wait for all devices."""
    for index in range(len(driver.find_devices())):
        synchronize(index)
