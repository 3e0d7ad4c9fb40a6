"""Memory: figures that follow what is made and dropped, leaks, errors where there is none left, pinned memory."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

import dispatch_core as dc
from dispatch_core import ops

from ...dtypes import BY_NAME
from ..agreement import TestedDevice
from ..comparing import DisagreementError, compare_values
from ..placing import arguments_on, call, get, put
from ..samples import op_samples
from .absence import Absence, require
from .own_kernels import ALLOCATED
from .streams import ROUNDS, floats, work

_PEAK: Final = "allocated_bytes.all.peak"
#: Operators that are called many times.
_CALLED: Final = ("add.Tensor", "mul.Tensor", "exp", "sum.dim_IntList", "add_.Tensor", "add.out", "copy_", "mm", "cat")
_TIMES: Final = 30


def _count_bytes(device: TestedDevice, memory: Any, index: int = 0) -> int:
    gc.collect()
    dc.synchronize(device.name)
    stats = memory.stats(index)
    if ALLOCATED not in stats:
        raise Absence(f"memory.stats({index}) has no {ALLOCATED}")
    return int(stats[ALLOCATED])


def check_figures(device: TestedDevice, interface: dc.DeviceInterface) -> int:
    """Make and drop an array: the figures of memory follow."""
    [memory] = require(interface, "memory")
    values = floats(device, 70_000)
    before = _count_bytes(device, memory)
    array = put(values, device.name)
    during = _count_bytes(device, memory)
    if during - before < values.nbytes:
        raise DisagreementError(f"{ALLOCATED} grows by {during - before} for an array of {values.nbytes} bytes")
    del array
    after = _count_bytes(device, memory)
    if after > before:
        raise DisagreementError(f"{ALLOCATED} is {after - before} bytes larger after an array was made and dropped")
    peak = memory.stats(0).get(_PEAK)
    if peak is not None and peak < during:
        raise DisagreementError(f"{_PEAK} is {peak}, and {ALLOCATED} has been {during}")
    if getattr(memory, "info", None) is not None:
        free, total = memory.info(0)
        if not 0 <= free <= total:
            raise DisagreementError(f"info(0) says {free} bytes are free of {total}")
    _check_peaks(memory)
    return 3 + _check_second(device, memory)


def _check_peaks(memory: Any) -> None:
    """Reset the peaks: each is the figure of the present then."""
    if getattr(memory, "reset_peaks", None) is None:
        return
    memory.reset_peaks(0)
    stats = memory.stats(0)
    for name, peak in stats.items():
        now = stats.get(f"{name.removesuffix('.peak')}.current")
        if name.endswith(".peak") and now is not None and peak > now:
            raise DisagreementError(f"after reset_peaks(0) {name} is {peak}, and {now} is the figure of the present")


def _check_second(device: TestedDevice, memory: Any) -> int:
    """Make an array on the second device: its figures grow, and those of the first do not."""
    if device.count < 2:
        return 0
    values, place = floats(device, 70_000), dc.Device(device.name, 1)
    ops.prims.device_put(values[:1], device=place)  # opens the device
    before = [_count_bytes(device, memory, index) for index in (0, 1)]
    array = ops.prims.device_put(values, device=place)
    during = [_count_bytes(device, memory, index) for index in (0, 1)]
    del array
    first, second = (new - old for new, old in zip(during, before, strict=True))
    if second < values.nbytes:
        raise DisagreementError(
            f"{ALLOCATED} of stats(1) grows by {second} for an array of {values.nbytes} bytes on {place}"
        )
    if first >= values.nbytes:
        raise DisagreementError(
            f"{ALLOCATED} of stats(0) grows by {first} for an array of {values.nbytes} bytes on {place}"
        )
    return 2


def check_out_of_memory(device: TestedDevice, interface: dc.DeviceInterface) -> int:
    """Ask for an array that no device has room for: the error is of the class that the interface names."""
    [named] = require(interface, "out_of_memory")
    classes = named if isinstance(named, tuple) else (named,)
    values = floats(device, 5)
    size = [_ABSURD // values.itemsize]
    kind = BY_NAME[values.dtype.name]
    try:
        made = ops.aten.empty(size, dtype=kind, device=dc.Device(device.name))
        dc.synchronize(device.name)
    except dc.NoKernelError:
        raise
    except Exception as error:
        causes: list[BaseException | None] = [error]
        while causes[-1] is not None:
            causes.append(causes[-1].__cause__)
        if not any(isinstance(each, classes) for each in causes):
            known = " or ".join(each.__qualname__ for each in classes)
            raise DisagreementError(
                f"empty({size}) raises {type(error).__qualname__}, and interface.out_of_memory is {known}: {error}"
            ) from error
    else:
        del made
        raise DisagreementError(f"empty({size}), which is a million gigabytes, raises nothing")
    compare_values("", "work after there was no memory", get(work(put(values, device.name), 1)), values + 1)
    return 2


#: Bytes that no device has, and no process can address.
_ABSURD: Final = 1 << 50


def check_leaks(device: TestedDevice, interface: dc.DeviceInterface) -> int:
    """Copy and call many times: the bytes that arrays have are as before."""
    [memory] = require(interface, "memory")
    count = 0
    for name, step in _steps(device):
        try:
            for _ in range(3):
                step()  # what is made once and kept: kernels, numbers
        except dc.NoKernelError:
            continue
        before = _count_bytes(device, memory)
        for _ in range(_TIMES):
            step()
        grown = _count_bytes(device, memory) - before
        if grown > 0:
            raise DisagreementError(f"{ALLOCATED} grows by {grown} bytes in {_TIMES} calls of {name}")
        count += _TIMES
    return count


def _steps(device: TestedDevice) -> Iterator[tuple[str, Callable[[], object]]]:
    values = floats(device, 65)
    yield "device_put", lambda: put(values, device.name)
    array = put(values, device.name)
    yield "device_get", lambda: get(array)
    for name in _CALLED:
        sample = next(iter(op_samples(name)))
        arrays = [each for each in sample.arguments.values() if isinstance(each, np.ndarray)]
        if {each.dtype.name for each in arrays} - device.dtypes or (name[-3:] == "out" and not device.is_mutable):
            continue

        def step(sample: Any = sample, name: str = name) -> None:
            arguments = arguments_on(device.name, sample)
            if name.endswith("out"):
                made = put(np.empty(sample.arguments["self"].shape), device.name)
                arguments["out"] = made
            call(sample, arguments)

        yield name, step


def check_pinned(device: TestedDevice, interface: dc.DeviceInterface) -> int:
    """Copy from pinned memory to the device, and write to that memory afterwards: what was copied stays."""
    [allocate] = require(interface, "host_allocator")
    values = floats(device, 1025)
    buffer = allocate(values.nbytes)
    pinned = np.frombuffer(buffer, values.dtype)[: values.size]
    if not pinned.flags.writeable or pinned.nbytes < values.nbytes:
        raise DisagreementError(
            f"host_allocator({values.nbytes}) gives a buffer of {pinned.nbytes} bytes, or a read-only one"
        )
    pinned[...] = values
    array = ops.prims.device_put(pinned, device=dc.Device(device.name))
    made = work(array, 1)
    dc.synchronize(device.name)
    pinned[...] = 0
    if not (np.array_equal(get(array), values) and np.allclose(get(made), values + 1)):
        raise DisagreementError(
            "an array that was copied from pinned memory changes with that memory after synchronize()"
        )
    return 2


def check_copies(device: TestedDevice, interface: dc.DeviceInterface) -> int:
    """Copy to the device and back without waiting, work between: after synchronize() the values are those of the work."""
    allocate, download = require(interface, "host_allocator", "download")
    values = floats(device, 33, 65)
    buffers = [np.frombuffer(allocate(values.nbytes), values.dtype)[: values.size] for _ in range(2)]
    source, target = (each.reshape(values.shape) for each in buffers)
    source[...] = values
    upload = interface.upload
    array = put(values, device.name) if upload is None else upload(source, 0)
    made = work(array)
    download(made, target)
    later = work(made, 1)  # the copy is of the values at the call
    dc.synchronize(device.name)
    compare_values("", "what was copied to pinned memory after work", target, values + ROUNDS)
    compare_values("", "work after a copy to pinned memory", get(later), values + ROUNDS + 1)
    if interface.streams is None or interface.events is None:
        return 2
    with dc.Stream(device.name) as stream:
        download(work(put(values, device.name), 2), target)
        event = stream.record_event()
    event.synchronize()
    compare_values("", "what was copied to pinned memory before an event", target, values + 2)
    return 3
