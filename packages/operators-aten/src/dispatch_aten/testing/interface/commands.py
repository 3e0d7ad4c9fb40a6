"""Commands that run late: programs whose commands are delayed at random, and errors that come in later."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

import dispatch_core as dc
from dispatch_core import ops

from ..agreement import TestedDevice
from ..comparing import DisagreementError, compare_values
from ..placing import get, put
from .absence import Absence, require
from .holding import hold_commands
from .streams import floats

#: How long a command is delayed at most, in seconds, and how many programs run.
_LONGEST: Final = 0.005
_PROGRAMS: Final = 12


@contextmanager
def delay_commands(interface: dc.DeviceInterface, seed: int = 0) -> Iterator[list[int]]:
    """Delay each command of a device within a block by a random time; yield a list with the number of commands.

    The function that the backend hands to its queue waits before it does its work.
    """
    draw, submit = random.Random(seed), interface.queue
    assert submit is not None
    count = [0]

    def late(function: Any, *arguments: Any) -> Any:
        count[0] += 1
        pause = draw.random() * _LONGEST if draw.random() < 0.7 else 0.0

        def run(*given: Any) -> Any:
            time.sleep(pause)
            return function(*given)

        return submit(run, *arguments)

    interface.queue = late
    try:
        yield count
    finally:
        interface.queue = submit


def _program(device: str, values: Any, number: int) -> Any:
    """Queue calls that need one another's results in several ways, writes in place included."""
    one, two = put(values, device), put(values[::-1], device)
    three = ops.aten.add(one, two)
    four = ops.aten.mul(three, ops.aten.exp(ops.aten.mul(two, 0.1)))
    ops.aten.copy_(three, one) if dc.is_mutable(three) else None
    five = ops.aten.add(ops.aten.mul(four, four), one, alpha=number % 3)
    if dc.is_mutable(five):
        ops.aten.add_(five, four)
        ops.aten.copy_(one, five)
        five = ops.aten.add(one, three)
    return get(ops.aten.mul(five, two))


def check_delayed(device: TestedDevice, interface: dc.DeviceInterface) -> int:
    """Compare programs whose commands are delayed at random with the same on the cpu."""
    require(interface, "queue")
    total = 0
    for number in range(_PROGRAMS):
        values = floats(device, (65, 257, 1025)[number % 3])
        expected = _program("cpu", values, number)
        if not device.is_mutable:
            expected = _functional(values, number)
        with delay_commands(interface, number) as count:
            found = _program(device.name, values, number)
        total += count[0]
        compare_values("", "the result of commands that were delayed at random", found, expected)
    if not total:
        raise DisagreementError("interface.queue is never called: commands have to go through it to be delayed")
    return total


def _functional(values: Any, number: int) -> Any:
    one, two = values, values[::-1]
    four = (one + two) * np.exp(two * 0.1)
    return (four * four + one * (number % 3)) * two


def _call_in_a_row(device: TestedDevice, interface: dc.DeviceInterface, array: Any, place: Any) -> None:
    """Call an operator that fails between two others, the last of which is called before the first has run."""
    with hold_commands(device, interface) as held:
        before = ops.aten.add(array, array)
        failed = ops.aten.index_select(array, 0, place)
        after = ops.aten.mul(array, array)
    held.gate.set()
    for each in (failed, before, after):
        get(each)


def _check_blame(device: TestedDevice, error: Exception) -> None:
    """Check that the operator which a late error names is the one that failed, where it names one."""
    if not isinstance(error, dc.AsyncDeviceError) or device.kernel_of("index_select") != "own":
        return
    blamed = str(error).partition(" failed on ")[0]
    if "::" in blamed and blamed != "aten::index_select":
        raise DisagreementError(
            f"the late error of aten::index_select is said to be of {blamed}: reports() has to give the number that"
            f" launched() was told last before the call that failed; {error}"
        ) from error


def check_reports(device: TestedDevice, interface: dc.DeviceInterface) -> int:
    """Wait for the device: nothing is reported where nothing has failed, and an error arrives once."""
    [reports] = require(interface, "reports")
    if "int64" not in device.dtypes:
        raise Absence("the device has no int64")
    dc.synchronize(device.name)
    [*reports()]
    values = floats(device, 5)
    get(ops.aten.add(put(values, device.name), 1))
    dc.synchronize(device.name)
    if left := [*reports()]:
        raise DisagreementError(f"reports() has {len(left)} errors where nothing has failed: {left[0]!r}")
    array, place = put(values, device.name), put(np.array([99]), device.name)
    for attempt in (1, 2):
        try:
            if attempt == 1:
                _call_in_a_row(device, interface, array, place)
            dc.synchronize(device.name)
        except dc.NoKernelError:
            raise
        except Exception as error:
            if attempt == 2:
                raise DisagreementError(f"an asynchronous error arrives twice: {error}") from error
            _check_blame(device, error)
        else:
            if attempt == 1:
                raise DisagreementError(
                    "index_select with a place out of range raises nothing, at the latest in synchronize()"
                )
    compare_values("", "work after an asynchronous error", get(ops.aten.add(put(values, device.name), 1)), values + 1)
    return 3
