"""Arrays of a file as tensors: views of one storage share its memory."""

from __future__ import annotations

from typing import Any

import numpy as np

import dispatch_core as dc
from dispatch_aten.dtypes import BY_NAME, ScalarType

from ..creation import FACTORIES
from ..nn.parameter import Parameter
from ..tensors import Tensor, wrap
from .locations import Locator

__all__ = ["Placed", "check_numbers", "find_dtype", "finish", "numpy_dtype", "view_storage"]


def numpy_dtype(dtype: ScalarType) -> np.dtype[Any]:
    """Return the dtype of a cpu tensor's array, also where NumPy itself has none."""
    try:
        return np.dtype(dtype.short)
    except TypeError:
        return FACTORIES["empty"](0, dtype=dtype)._dispatch_data.dtype


def check_numbers(values: Any, name: str) -> tuple[int, ...]:
    """Return sizes or strides as a tuple; raises ``ValueError`` for anything but numbers from zero on."""
    if not isinstance(values, (list, tuple)) or len(values) > 64:
        raise ValueError(f"{name} is no list of numbers")
    for value in values:
        if type(value) is not int or not 0 <= value < 1 << 62:
            raise ValueError(f"{name} has {value!r}")
    return tuple(values)


def view_storage(
    storage: np.ndarray[Any, Any], dtype: ScalarType, offset: Any, size: Any, stride: Any
) -> np.ndarray[Any, Any]:
    """Return an array in the memory of a storage, which is one of bytes; all but ``offset``'s unit, bytes, is in elements.

    Raises ``ValueError`` where an element lies beyond the storage.
    """
    sizes, strides = check_numbers(size, "size"), check_numbers(stride, "stride")
    (start,) = check_numbers([offset], "offset")
    if len(sizes) != len(strides):
        raise ValueError(f"{len(sizes)} sizes and {len(strides)} strides")
    kind = numpy_dtype(dtype)
    if 0 in sizes:
        return np.empty(sizes, kind)
    last = sum((count - 1) * step for count, step in zip(sizes, strides, strict=True))
    if start + (last + 1) * kind.itemsize > storage.nbytes:
        raise ValueError("a tensor lies beyond its storage")
    steps = tuple(step * kind.itemsize for step in strides)
    # NumPy checks the bounds once more.
    return np.ndarray(sizes, kind, storage.data, start, steps)


def finish(array: np.ndarray[Any, Any], requires_grad: bool, is_parameter: bool, device: dc.Device) -> Tensor:
    """Return an array as a tensor on the device that it goes to."""
    FACTORIES["empty"](0, device="cpu")  # loads the cpu's backend
    made = wrap(array)
    if device.type != "cpu":
        made = made.to(device)
    return complete(made, requires_grad, is_parameter)


def complete(made: Tensor, requires_grad: bool, is_parameter: bool) -> Tensor:
    """Return a tensor as one that requires grad, or a parameter."""
    if is_parameter:
        return Parameter(made, requires_grad)
    return made.requires_grad_() if requires_grad and made.dtype.is_differentiable else made


class Placed:
    """The storages of a file on the devices that their tensors go to: the first tensor brings one there for all."""

    def __init__(self) -> None:
        #: The storage's address and the device → a tensor of all of its elements.
        self._wholes: dict[tuple[int, dc.Device], Tensor] = {}

    def make(self, storage: np.ndarray[Any, Any], dtype: ScalarType, node: dict[str, Any], locate: Locator) -> Tensor:
        """Return the tensor of a node in a storage, which is one of bytes; see `view_storage`."""
        array = view_storage(storage, dtype, node["offset"], node["shape"], node["stride"])
        requires_grad, is_parameter = bool(node.get("requires_grad")), bool(node.get("parameter"))
        device = locate(node.get("device", "cpu"))
        if device.type == "cpu" or node["offset"] % dtype.itemsize or not array.size:
            return finish(array, requires_grad, is_parameter, device)
        FACTORIES["empty"](0, device="cpu")  # loads the cpu's backend
        whole = self._wholes.get((id(storage), device))
        if whole is None:
            if array.nbytes == storage.nbytes and array.flags.c_contiguous:
                made = self._wholes[id(storage), device] = wrap(array).to(device)
                return complete(made, requires_grad, is_parameter)
            count = storage.nbytes // dtype.itemsize
            whole = wrap(storage[: count * dtype.itemsize].view(array.dtype)).to(device)
            self._wholes[id(storage), device] = whole
        flat = whole.detach().view(-1)
        flat = flat if flat.dtype == dtype else flat.view(dtype)
        start = node["offset"] // dtype.itemsize
        if array.flags.c_contiguous:
            part = flat[start : start + array.size].view(array.shape)
        else:
            part = flat.as_strided(node["shape"], node["stride"], start)
        return complete(part.detach(), requires_grad, is_parameter)


def find_dtype(name: Any) -> ScalarType:
    """Return a dtype by its name; ``ValueError`` for a name that is none."""
    if not isinstance(name, str) or name not in BY_NAME:
        raise ValueError(f"{name!r} is no dtype")
    return BY_NAME[name]
