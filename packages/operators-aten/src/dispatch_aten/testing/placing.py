"""Placing samples on a device, and reading results back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import dispatch_core as dc
from dispatch_core import ops

from ..dtypes import BY_NAME, ScalarType
from .changes import map_arrays
from .drawing import Array
from .samples import Sample


def put(array: Array, device: str) -> Any:
    """Return an array of the device with NumPy's values, row by row."""
    # NumPy's copy of an array without elements has no steps from row to row.
    values = np.array(array, order="C") if array.size else np.empty(array.shape, array.dtype)
    return ops.prims.device_put(values, device=dc.Device(device))


def get(array: Any) -> Array:
    """Return an array's values as NumPy's."""
    return np.asarray(ops.prims.device_get(array))


def place(array: Array, device: str, layout: str = "") -> Any:
    """Return an array of the device with NumPy's values, laid out by operators of the device.

    >>> dc.strides(place(np.ones((2, 3)), "cpu", "transposed"))
    (1, 2)
    """
    if layout == "transposed" and array.ndim > 1:
        order = [*range(array.ndim)][::-1]
        return ops.aten.permute(put(array.transpose(order), device), order)
    if layout == "with gaps" and array.ndim:
        return ops.aten.select(put(np.stack([array, array], -1), device), -1, 0)
    return put(array, device)


def arguments_on(device: str, sample: Sample) -> dict[str, Any]:
    """Return a sample's arguments with arrays of the device; an operator without tensors is told the device."""
    found = map_arrays(sample.arguments, lambda array: place(array, device, sample.layout))
    found = {key: dc.Device(device) if isinstance(value, dc.Device) else value for key, value in found.items()}
    if any(each.name == "device" for each in sample.schema.arguments) and "device" not in found:
        found["device"] = dc.Device(device)
    return dict(found)


def call(sample: Sample, arguments: dict[str, Any]) -> Any:
    """Call the sample's operator with arguments by name."""
    return dc.registry.get(f"aten::{sample.name}").op(**arguments)


def leaves(value: Any) -> Iterator[Any]:
    """Yield the results of an operator that returns lists or several."""
    if isinstance(value, list | tuple):
        for each in value:
            yield from leaves(each)
    else:
        yield value


def dtypes_of(device: str) -> frozenset[str]:
    """Return the names of NumPy's dtypes that come back from a device as they went there."""
    found = set()
    for name in BY_NAME:
        try:
            values = np.ones(2, name)
            array = put(values, device)
            if dc.dtype(array) == BY_NAME[name] and get(array).dtype == values.dtype:
                found.add(name)
        except Exception:  # noqa: BLE001, S112  # a device refuses a dtype in its own way
            continue
    return frozenset(found)


def dtype_name(array: Any) -> str:
    """Return NumPy's name of the dtype of an array on any device."""
    kind = dc.dtype(array)
    return str(kind) if isinstance(kind, ScalarType) else repr(kind)
