"""Memory: figures that follow what is made and dropped, leaks, pinned memory; and engines of random numbers."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

import dispatch_core as dc
from dispatch_core import ops

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


def _count_bytes(device: TestedDevice, memory: Any) -> int:
    gc.collect()
    dc.synchronize(device.name)
    stats = memory.stats(0)
    if ALLOCATED not in stats:
        raise Absence(f"memory.stats(0) has no {ALLOCATED}")
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
    return 3


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


def check_generators(device: TestedDevice, interface: dc.DeviceInterface) -> int:
    """Seed engines, keep their state and restore it: the same numbers come, and of two indices with one seed, too."""
    [make] = require(interface, "generator")
    engine = make(0)
    engine.seed(7)
    state = engine.get_state()
    if not isinstance(state, bytes | bytearray | memoryview):
        raise DisagreementError(f"get_state() returns a {type(state).__name__}, not bytes")
    engine.seed(7)
    if bytes(engine.get_state()) != bytes(state):
        raise DisagreementError("two seeds with one number lead to different states")
    engine.seed(8)
    other = bytes(engine.get_state())
    if other == bytes(state):
        raise DisagreementError("seeds with different numbers lead to the same state")
    engine.set_state(bytes(state))
    if bytes(engine.get_state()) != bytes(state):
        raise DisagreementError("set_state(get_state()) leads to another state")
    return 4
