"""Arrays of a file as tensors: views of one storage share its memory."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

import dispatch_core as dc
from dispatch_aten.dtypes import BY_NAME, QUANTIZED, ScalarType
from dispatch_aten.shapes import is_contiguous

from ..creation.factories import FACTORIES
from ..nn.parameter import Parameter
from ..tensors.tensor import Tensor, wrap
from .locations import Locator
from .sources import Bytes

#: A dtype → the name of torch's class of storages for it.
STORAGE_CLASSES: Final = {
    ScalarType[name]: f"{name}Storage"
    for name in (
        "BFloat16 Bool Byte Char ComplexDouble ComplexFloat Double Float Half Int Long QInt32 QInt8 QUInt8 Short"
    ).split()
}
#: Where a mapped storage begins: at a multiple of the largest alignment of a dtype, in bytes.
LARGEST_ALIGNMENT: Final = 8


def numpy_dtype(dtype: ScalarType) -> np.dtype[Any]:
    """Return the dtype of a cpu tensor's array, also where NumPy has none; of a quantized one that of its integers."""
    dtype = QUANTIZED.get(dtype, dtype)
    try:
        return np.dtype(dtype.short)
    except TypeError:
        return FACTORIES["empty"](0, dtype=dtype)._dispatch_data.dtype


def check_numbers(values: Any, name: str) -> tuple[int, ...]:
    """Return sizes or strides as a tuple; raises ``ValueError`` for anything but numbers from zero on."""
    if not isinstance(values, (list, tuple)) or len(values) > 64:
        raise ValueError(f"{name} is not a list of numbers")
    for value in values:
        if type(value) is not int or not 0 <= value < 1 << 62:
            raise ValueError(f"{name} has {reprlib.repr(value)}")
    return tuple(values)


@dataclass(frozen=True, slots=True, eq=False)
class FileStorage:
    """A file's bytes in which tensors lie, which are read when the first tensor is found to lie within them."""

    nbytes: int
    read: Callable[[], Bytes]


def _check_view(
    storage: FileStorage, itemsize: int, node: dict[str, Any]
) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Return a node's sizes and strides, in elements, and its offset, in bytes.

    Raises ``ValueError`` where an element lies beyond the storage.
    """
    sizes, strides = check_numbers(node["shape"], "size"), check_numbers(node["stride"], "stride")
    (start,) = check_numbers([node["offset"]], "offset")
    if len(sizes) != len(strides):
        raise ValueError(f"{len(sizes)} sizes and {len(strides)} strides")
    last = sum((count - 1) * step for count, step in zip(sizes, strides, strict=True))
    if 0 not in sizes and start + (last + 1) * itemsize > storage.nbytes:
        raise ValueError("a tensor lies beyond its storage")
    return sizes, strides, start


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
        self._contents: dict[FileStorage, Bytes] = {}
        #: The storage and the device → a tensor of all of its elements.
        self._wholes: dict[tuple[FileStorage, dc.Device], Tensor] = {}

    def view(self, storage: FileStorage, dtype: ScalarType, node: dict[str, Any]) -> np.ndarray[Any, Any]:
        """Return the array of a node in the memory of a storage, which is read once."""
        kind = numpy_dtype(dtype)
        sizes, strides, _ = _check_view(storage, kind.itemsize, node)
        if 0 in sizes:
            return np.ndarray(sizes, kind, np.empty(1, kind), 0, [step * kind.itemsize for step in strides])
        if storage not in self._contents:
            self._contents[storage] = storage.read()
        return _view(self._contents[storage], kind, node)

    def make(self, storage: FileStorage, dtype: ScalarType, node: dict[str, Any], locate: Locator) -> Tensor:
        """Return the tensor of a node in a storage.

        Raises ``ValueError`` for sizes and strides that are none, or that lead out of the storage, before that is read.
        """
        kind = numpy_dtype(dtype)
        sizes, strides, offset = _check_view(storage, kind.itemsize, node)
        requires_grad, is_parameter = bool(node.get("requires_grad")), bool(node.get("parameter"))
        device = locate(node.get("device", "cpu"))
        if device.type == "cpu" or 0 in sizes:
            return finish(self.view(storage, dtype, node), requires_grad, is_parameter, device)
        if offset % kind.itemsize:
            return finish(_view(storage.read(), kind, node), requires_grad, is_parameter, device)
        FACTORIES["empty"](0, device="cpu")  # loads the cpu's backend
        whole = self._wholes.get((storage, device))
        if whole is None:
            content = storage.read()
            array = _view(content, kind, node)
            if array.nbytes == storage.nbytes and array.flags.c_contiguous:
                made = self._wholes[storage, device] = wrap(array).to(device)
                return complete(made, requires_grad, is_parameter)
            count = storage.nbytes // dtype.itemsize
            whole = wrap(content[: count * dtype.itemsize].view(kind)).to(device)
            self._wholes[storage, device] = whole
        flat = whole.detach().view(-1)
        flat = flat if flat.dtype == dtype else flat.view(dtype)
        start, count = offset // dtype.itemsize, math.prod(sizes)
        if is_contiguous(sizes, strides):
            part = flat[start : start + count].view(sizes)
        else:
            part = flat.as_strided(sizes, strides, start)
        return complete(part.detach(), requires_grad, is_parameter)


def _view(content: Bytes, kind: np.dtype[Any], node: dict[str, Any]) -> np.ndarray[Any, Any]:
    """Return the array of a node that has been checked; NumPy checks the bounds once more."""
    steps = tuple(step * kind.itemsize for step in node["stride"])
    return np.ndarray(tuple(node["shape"]), kind, content.data, node["offset"], steps)


def find_dtype(name: Any) -> ScalarType:
    """Return a dtype by its name; ``ValueError`` for a name that is none."""
    if not isinstance(name, str) or name not in BY_NAME:
        raise ValueError(f"{name!r} is not a dtype")
    return BY_NAME[name]
