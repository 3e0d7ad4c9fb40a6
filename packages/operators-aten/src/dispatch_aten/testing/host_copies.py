"""Copies between the host and a device: values, dtypes, and no memory in common."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import dispatch_core as dc
from dispatch_core import ops

from ..dtypes import BY_NAME
from .agreement import TestedDevice
from .outcomes import Outcome
from .places import place_of_error, place_of_kernel
from .placing import dtype_name, put

CHECK: Final = "host copies"
_SHAPES: Final[tuple[tuple[int, ...], ...]] = ((2, 3), (), (0, 3), (1, 2, 2))


def check_host_copies(device: TestedDevice) -> Outcome:
    """Compare a copy that comes back with its source, and write to both ends on the host.

    >>> check_host_copies(TestedDevice.find("cpu")).status
    'passed'
    """
    if not device.has_values:
        return Outcome(CHECK, "not run", "the device has no values")
    count = 0
    for dtype in BY_NAME:
        try:
            put(np.ones(2, dtype), device.name)
        except Exception as error:  # noqa: BLE001  # the device, or NumPy, refuses the dtype
            if dtype in device.dtypes & device.claimed:
                said = f"{dtype}: the device's interface lists it, and device_put refuses it: {error}"
                return Outcome(CHECK, "failed", said, samples=count, place=place_of_error(device.key, error))
            continue
        for shape in _SHAPES:
            try:
                found = _find_fault(device, np.ones(shape, dtype))
            except Exception as error:  # noqa: BLE001  # whatever is raised is the finding
                found, place = f"{type(error).__name__}: {error}", place_of_error(device.key, error)
            else:
                place = place_of_kernel(device.key, f"prims::{found.partition(' ')[0]}")
            if found:
                return Outcome(CHECK, "failed", f"{dtype}{list(shape)}: {found}", samples=count, place=place)
            count += 1
    return Outcome(CHECK, "passed", samples=count)


def _find_fault(device: TestedDevice, values: Any) -> str:
    given = values.copy()
    array = ops.prims.device_put(given, device=dc.Device(device.name))
    if dtype_name(array) != values.dtype.name:
        values = values.astype(dtype_name(array))  # the device has no such dtype, and takes another
    back = ops.prims.device_get(array)
    if not isinstance(back, np.ndarray):
        return f"device_get returns a {type(back).__name__}, no numpy.ndarray"
    if (back.dtype, back.shape) != (values.dtype, values.shape):
        wanted = f"{values.dtype}{list(values.shape)}"
        return f"device_get returns {back.dtype}{list(back.shape)} for an array {wanted}"
    if not np.array_equal(back, values):
        return f"device_get returns {back.tolist()} for {values.tolist()}"
    if device.name == "cpu":
        return ""  # its arrays are NumPy's own
    given[...] = 0
    if not np.array_equal(ops.prims.device_get(array), values):
        return "device_put keeps the memory of NumPy's array: a later write to that changes the device's"
    if back.flags.writeable:
        back[...] = 0
        if not np.array_equal(ops.prims.device_get(array), values):
            return "device_get returns the device's own memory: a write to the result changes the device's array"
    return ""
