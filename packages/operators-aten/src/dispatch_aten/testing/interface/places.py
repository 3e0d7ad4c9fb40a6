"""Indices: arrays of two devices of a type, and the thread's current device."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

import dispatch_core as dc
from dispatch_core import ops

from ...errors import DtypeError
from ...operators import ATEN, KIND_OF
from ..agreement import TestedDevice
from ..changes import arrays_in, map_arrays
from ..comparing import DisagreementError, compare_values
from ..placing import arguments_on, call, get, leaves
from ..samples import op_samples, schema_of
from .absence import Absence, require
from .holding import LATE, hold_commands, open_gate
from .streams import ROUNDS, floats, work


def second_index(device: TestedDevice) -> dc.Device:
    """Return the second device of the type.

    Raises ``Absence`` where there is none, ``DisagreementError`` for one that there should be.
    """
    found = dc.Device(device.name, 1)
    missing = Absence if device.count < 2 else DisagreementError
    said = f", and dispatch_device_count() says {device.count}" if device.count > 1 else ""
    try:
        array = ops.prims.device_put(np.ones(1, min(device.dtypes)), device=found)
        placed = dc.device(array)
    except Exception as error:
        raise missing(f"there is no second device{said}: {type(error).__name__}: {error}".splitlines()[0]) from error
    if placed.index != 1:
        raise missing(f"an array that is put on {found} lies on {placed}: the device has no indices{said}")
    return found


def check_indices(device: TestedDevice, interface: dc.DeviceInterface) -> int:
    """Refuse calls of operators with arrays of two indices, by both names; change nothing."""
    if not device.has_values:
        raise Absence("the device has no values")
    second, count = second_index(device), 0
    first = dc.Device(device.name, 0)
    for name in _of_two():
        sample = next(iter(op_samples(name)), None)
        if sample is None or {array.dtype.name for array in arrays_in(sample.arguments)} - device.dtypes:
            continue
        placed: list[Any] = []

        def place(array: Any, placed: list[Any] = placed) -> Any:
            placed.append(ops.prims.device_put(np.array(array), device=second if placed else first))
            return placed[-1]

        arguments = map_arrays(sample.arguments, place)
        if len(placed) < 2:
            continue
        before = [get(each) for each in placed]
        try:
            call(sample, arguments)
        except dc.NoKernelError:
            continue
        except Exception as error:
            if str(first) not in str(error) or str(second) not in str(error):
                raise DisagreementError(f"{sample} with arrays on {first} and {second}: {error}") from error
        else:
            raise DisagreementError(f"{sample} takes arrays on {first} and on {second}")
        after = [get(each) for each in placed]
        if any(one.tobytes() != two.tobytes() for one, two in zip(before, after, strict=True)):
            raise DisagreementError(f"{sample} is refused for arrays on {first} and {second}, and has changed one")
        count += 1
    return count + _check_made(device, second)


def _check_made(device: TestedDevice, second: dc.Device) -> int:
    """Make arrays on the second device by each operator that is told a device and has a kernel of the device's own."""
    count = 0
    for operator in ATEN:
        is_told = any(each.name == "device" for each in schema_of(operator.name).arguments)
        sample = next(iter(op_samples(operator.name)), None) if is_told else None
        if sample is None or device.kernel_of(operator.name) != "own":
            continue
        try:
            made = call(sample, {**arguments_on(device.name, sample), "device": second})
        except (dc.NoKernelError, DtypeError):
            continue
        for each in leaves(made):
            if dc.device(each).index != second.index:
                raise DisagreementError(f"{sample} with device={second} makes an array on {dc.device(each)}")
        count += 1
    return count


def _of_two() -> Iterator[str]:
    """Yield the operators that take two tensors, or a list of them, and copy nothing between devices."""
    for operator in ATEN:
        arguments = operator.schema.partition(" -> ")[0]
        has_two = arguments.count("Tensor") > 1 or "Tensor[]" in arguments
        if has_two and KIND_OF[operator.name] not in _COPYING and "out" not in operator.tags:
            yield operator.name


#: Kinds of operators that copy between devices, or draw.
_COPYING: Final = frozenset({"copy", "random"})


def check_crossing(device: TestedDevice, interface: dc.DeviceInterface) -> int:
    """Copy between two devices of the type, after work and before it, also by ``copy_`` and of a transposed array."""
    second, count = second_index(device), 0
    values = floats(device, 33, 65)
    first = ops.prims.device_put(np.array(values), device=dc.Device(device.name, 0))
    made = work(first)
    moved = ops.aten._to_copy(made, device=second)
    if dc.device(moved).index != second.index:
        raise DisagreementError(f"a copy to {second} lies on {dc.device(moved)}")
    compare_values("", f"a copy on {second}", get(work(moved, 1)), values + ROUNDS + 1)
    count += 2
    if device.is_mutable:
        target = ops.prims.device_put(np.zeros_like(values.T), device=second)
        ops.aten.copy_(target, ops.aten.t(made))
        made = ops.aten.zero_(made)  # after the copy, which reads it
        compare_values("", f"what copy_ has copied to {second}", get(target), (values + ROUNDS).T)
        compare_values("", "the source of a copy that was overwritten later", get(made), np.zeros_like(values))
        count += 2 + _check_late_crossing(device, interface, second)
    return count


def _check_late_crossing(device: TestedDevice, interface: dc.DeviceInterface, second: dc.Device) -> int:
    """Copy between devices while the source's work is late, and write to the source while the copy is late."""
    first = dc.Device(device.name, 0)
    for rounds, size in LATE:
        values = -1.5 * floats(device, size)
        array, one = (ops.prims.device_put(each, device=first) for each in (values, np.ones_like(values)))
        target, other = (ops.prims.device_put(np.zeros_like(values), device=second) for _ in range(2))
        dc.synchronize(device.name)
        with hold_commands(device, interface) as held:
            made = work(array, rounds, one)
        is_late = held.is_on
        try:
            ops.aten.copy_(target, made)
            moved = ops.aten._to_copy(made, device=second)
        finally:
            open_gate(device, held)
        late = f"of work on {first} that was late"
        compare_values("", f"what copy_ has copied to {second} {late}", get(target), values + rounds)
        compare_values("", f"a copy to {second} {late}", get(moved), values + rounds)
        with hold_commands(device, interface) as held:
            ops.aten.copy_(other, array)
        try:
            ops.aten.zero_(array)
        finally:
            open_gate(device, held)
        compare_values("", f"what copy_ has copied late to {second} of an array written to later", get(other), values)
        if is_late:
            break
    return 3


def check_current(device: TestedDevice, interface: dc.DeviceInterface) -> int:
    """Make another device the thread's: it comes back as told, is another thread's no business, and arrays lie there."""
    current, exchange = require(interface, "current", "exchange")
    before = current()
    place = second_index(device)
    second = place.index
    if current() != before:
        raise DisagreementError(f"after work on {place} the current device is {current()}, and was {before}")
    try:
        if exchange(second) != before or current() != second:
            raise DisagreementError(f"after exchange({second}) the current device is {current()}, and was {before}")
        seen: list[int] = []
        thread = threading.Thread(target=lambda: seen.append(current()))
        thread.start()
        thread.join()
        if seen != [0]:
            raise DisagreementError(f"another thread's current device is {seen}: exchange() is a thread's own matter")
        made = ops.aten.empty([2], device=dc.Device(device.name))
        if dc.device(made).index != second:
            raise DisagreementError(f"with {second} as current device an array is made on {dc.device(made)}")
    finally:
        exchange(before)
    if current() != before:
        raise DisagreementError(f"exchange({before}) leaves {current()} as the current device")
    return 4
