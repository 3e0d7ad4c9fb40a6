"""Indices: arrays of two devices of a type, and the thread's current device."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

import dispatch_core as dc
from dispatch_core import ops

from ...operators import ATEN, KIND_OF
from ..agreement import TestedDevice
from ..changes import arrays_in, map_arrays
from ..comparing import DisagreementError, compare_values
from ..placing import call, get
from ..samples import op_samples
from .absence import Absence, require
from .streams import ROUNDS, floats, work


def second_index(device: TestedDevice) -> dc.Device:
    """Return the second device of the type.

    Raises ``Absence`` where there is none.
    """
    found = dc.Device(device.name, 1)
    try:
        array = ops.prims.device_put(np.ones(1, min(device.dtypes)), device=found)
        placed = dc.device(array)
    except Exception as error:
        raise Absence(f"there is no second device: {str(error).splitlines()[0]}") from error
    if placed.index != 1:
        raise Absence(f"an array that is put on {found} lies on {placed}: the device has no indices")
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
        count += 2
    return count


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
