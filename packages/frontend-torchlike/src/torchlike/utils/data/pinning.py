"""Batches in memory from which devices copy faster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...tensors.tensor import Tensor
from .collation import _rebuild_mapping, _rebuild_sequence


def pin_memory(data: Any, device: Any = None) -> Any:
    """Return a batch with its tensors pinned, in containers too, and those of other classes by their own ``pin_memory``.

    Args:
        data: The batch.
        device: The device that copies; the accelerator, where it is None.

    Raises ``RuntimeError`` where no device here has memory to pin, as the tensors' method does.

    >>> pin_memory({"name": ["a", "b"]})
    {'name': ['a', 'b']}
    """
    if isinstance(data, Tensor):
        return data.pin_memory(*([] if device is None else [device]))
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, Mapping):
        return _rebuild_mapping(data, lambda key: pin_memory(data[key], device))
    if isinstance(data, tuple):
        values = [pin_memory(each, device) for each in data]
        return type(data)(*values) if hasattr(data, "_fields") else values
    if isinstance(data, Sequence):
        return _rebuild_sequence(data, [pin_memory(each, device) for each in data])
    return data.pin_memory() if hasattr(data, "pin_memory") else data
