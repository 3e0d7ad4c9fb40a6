"""Numbers that stand in an optimizer's state as tensors of one element, as in torch, and are read and written as numbers.

The number of steps decides the next step's factors. Reading it by an operator would make a pipeline compute all that it
has recorded; so it is a cpu tensor of our own whose array is read and written here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatch_aten.dtypes import ScalarType, get_default_dtype

from ..creation.factories import tensor
from ..history.captures import current_part
from ..tensors.arrays import is_recording
from ..tensors.tensor import Tensor, wrap


def _array_of(value: Tensor) -> np.ndarray[Any, Any] | None:
    """Return the array of a cpu tensor that can be read and written without an operator."""
    data: Any = value._dispatch_data
    return data if type(data) is np.ndarray and data.ndim == 0 and not value.requires_grad else None


def make_number(value: float) -> Tensor:
    """Return a number as a tensor in the default dtype, or in float32."""
    is_double = get_default_dtype() is ScalarType.Double
    if current_part() is not None:
        return wrap(np.array(float(value), np.float64 if is_double else np.float32))
    return tensor(float(value), dtype=ScalarType.Double if is_double else ScalarType.Float)


def read_number(value: Any) -> Any:
    """Return the number of a tensor of one element, and any other number as it is; a live one in a captured call."""
    if not isinstance(value, Tensor):
        return value
    array = _array_of(value)
    if array is not None and (part := current_part()) is not None:
        return part.optimizers.read(value)
    return value.item() if array is None else array.item()


def write_number(state: dict[str, Any], name: str, value: float) -> None:
    """Write a number to the tensor ``name`` of a state."""
    old = state[name]
    array = _array_of(old) if isinstance(old, Tensor) else None
    if (part := current_part()) is not None and array is not None and array.flags.writeable:
        array[...] = getattr(value, "value", value)  # a replay writes its own
        old._count_write()
        part.optimizers.write(old, value)
        return
    if array is None or not array.flags.writeable or is_recording(old):
        dtype = np.float32 if array is None else array.dtype
        if isinstance(old, Tensor) and array is None:
            state[name] = tensor(value, dtype=old.dtype, device=old.device)
        else:
            state[name] = wrap(np.array(value, dtype))
        return
    array[...] = value
    old._count_write()


def multiply(state: dict[str, Any], name: str, factor: float) -> Any:
    """Return a number of a state times a factor, in the number's own precision."""
    value = state[name]
    is_double = not isinstance(value, Tensor) or value.dtype is ScalarType.Double
    return _compute(_multiply if is_double else _multiply_single, read_number(value), factor)


def _multiply(value: float, factor: float) -> float:
    return float(np.float64(value) * np.float64(factor))


def _multiply_single(value: float, factor: float) -> float:
    return float(np.float32(value) * np.float32(factor))


def round_number(value: float) -> float:
    """Return a number as the default dtype holds it."""
    return value if get_default_dtype() is ScalarType.Double else _compute(_round, value)


def _round(value: float) -> float:
    return float(np.float32(value))


def _compute(function: Any, *numbers: Any) -> Any:
    """Return a function of numbers, live ones among them."""
    if (part := current_part()) is not None:
        return part.optimizers.compute(function, *numbers)
    return function(*numbers)


def to_plain(value: Any) -> Any:
    """Return a setting as a number, or as a tensor without dimensions."""
    return value.squeeze() if isinstance(value, Tensor) and value.dim() else value
