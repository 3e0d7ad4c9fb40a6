"""Python's operators on tensors, and the methods that torch does not take from an operator of the same name.

Importing this module completes the ``Tensor`` class.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import numpy as np

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType, as_dtype

from . import indexing
from .devices import as_device, move, with_index
from .dtypes import DTYPES, type_name
from .functions import FUNCTIONS, METHODS, NUMBER_FIRST, NUMBER_OVERLOADS, PLAIN_NUMBERS, TENSOR_OVERLOADS
from .interop import is_recording
from .tensors import Tensor
from .ufuncs import with_array

__all__: list[str] = []

_NUMBERS: Final = (bool, int, float, complex, np.generic)
_TAKEN: Final = (Tensor, *_NUMBERS)

#: Python's binary operators: the special method's name and the torch function.
_OPERATORS: Final = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "truediv": "div",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "pow",
    "matmul": "matmul",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}
_COMPARISONS: Final = ("eq", "ne", "lt", "le", "gt", "ge")


def _forward(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Make the method of ``self + other``: the overload for two tensors itself, where there is one."""
    direct, numbers = TENSOR_OVERLOADS.get(name), NUMBER_OVERLOADS.get(name)
    if direct is None or numbers is None:

        def method(self: Tensor, other: Any) -> Any:
            return function(self, other) if isinstance(other, _TAKEN) else with_array(function, self, other)

        return method

    def otherwise(self: Tensor, other: Any, **_: Any) -> Any:
        if type(other) in PLAIN_NUMBERS:
            return numbers(self, other)
        return function(self, other) if isinstance(other, _TAKEN) else with_array(function, self, other)

    return dc.respell(direct, name, Tensor, otherwise, elsewhere=PLAIN_NUMBERS)


def _reflected(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Tensor, other: Any) -> Any:
        if not isinstance(other, _TAKEN):
            return NotImplemented
        return function(other.item() if isinstance(other, np.generic) else other, self)

    return method


def _add_operators() -> None:
    made: dict[str, Callable[..., Any]] = {}
    for python, name in _OPERATORS.items():
        if name not in FUNCTIONS:
            continue
        made[f"__{python}__"] = _forward(name, FUNCTIONS[name])
        made[f"__r{python}__"] = _reflected(NUMBER_FIRST.get(name, FUNCTIONS[name]))
        if f"{name}_" in METHODS:
            made[f"__i{python}__"] = _forward(f"{name}_", METHODS[f"{name}_"])
    for name in _COMPARISONS:
        made[f"__{name}__"] = _forward(name, FUNCTIONS[name])
    made["__neg__"] = FUNCTIONS["neg"]
    made["__abs__"] = FUNCTIONS["abs"]
    made["__pos__"] = FUNCTIONS["positive"]
    made["__invert__"] = FUNCTIONS["bitwise_not"]
    made["__getitem__"] = indexing.getitem
    made["__setitem__"] = indexing.setitem
    for name, method in made.items():
        setattr(Tensor, name, method)


def _to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Give the tensor with another dtype or on another device, itself where nothing changes (source: ``Tensor.to``).

    Takes a dtype, a device, a device and a dtype, or a tensor whose both are wanted. Where a device is named, a tensor that
    awaits a pipeline has its elements afterwards, also where it lies there already.
    """
    given: dict[str, Any] = {}
    rest = list(args)
    other = None
    if rest and isinstance(rest[0], Tensor):
        other = rest.pop(0)
        given = {"dtype": other.dtype, "device": other.device}
    elif "other" in kwargs:
        other = kwargs.pop("other")
        given = {"dtype": other.dtype, "device": other.device}
    else:
        if rest and isinstance(rest[0], (str, dc.Device)):
            given["device"] = as_device(rest.pop(0))
        if rest and (rest[0] is None or isinstance(rest[0], (ScalarType, type))):
            given["dtype"] = rest.pop(0)
    for name, value in zip(("non_blocking", "copy"), rest, strict=False):
        given[name] = value
    if len(rest) > 2 or (rest and not isinstance(rest[0], bool)):
        raise TypeError(
            f"to() received an invalid combination of arguments - got ({', '.join(type(arg).__name__ for arg in args)})"
        )
    if kwargs.get("device") is not None:
        kwargs["device"] = as_device(kwargs["device"])
    given.update(kwargs)
    device, dtype = given.get("device"), given.get("dtype")
    if device is not None:
        own = self.device
        device = given["device"] = with_index(device, own)
        if device == own and other is None:
            _end_wait(self)
    if dtype is not None and not isinstance(dtype, ScalarType):
        dtype = given["dtype"] = as_dtype(dtype)
    if (
        dtype in (None, self.dtype)
        and device in (None, self.device)
        and not given.get("copy")
        and given.get("memory_format") is None
    ):
        return self
    if device is not None and device != self.device:
        return move(self, device, dtype)
    result: Tensor = dc.ops.aten.to.dtype_layout(self, **given)
    return result


def _end_wait(tensor: Tensor) -> None:
    """Compute what a pipeline has recorded of a tensor."""
    if is_recording(tensor):
        from dispatch_core.pipelines import settle  # most programs open none

        settle(tensor)


def _cast(name: str, dtype: ScalarType) -> Callable[..., Tensor]:
    def method(self: Tensor, memory_format: int | None = None) -> Tensor:
        return _to(self, dtype, memory_format=memory_format)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"Give the tensor as {dtype}."
    return method


#: A tensor's type as `type_name` writes it: the device but for the cpu, and the dtype.
_TENSOR_TYPE: Final = re.compile(r"torch(?:like)?\.(?:(\w+)\.)?(\w+)Tensor")


def _type(self: Tensor, dtype: ScalarType | str | None = None) -> Any:
    """Give the type's name, or the tensor with another dtype; raises ``ValueError`` for the name of no type."""
    if dtype is None:
        return type_name(self)
    if isinstance(dtype, ScalarType):
        return _to(self, dtype)
    if not isinstance(dtype, str):
        raise TypeError("dtype must be a type, str, or dtype object")
    spelled = _TENSOR_TYPE.fullmatch(dtype)
    if spelled is None or spelled[2] not in ScalarType.__members__:
        raise ValueError(f"invalid type: {dtype!r}")
    return _to(self, spelled[1] or "cpu", ScalarType[spelled[2]])


def _cpu(self: Tensor) -> Tensor:
    """Give the tensor on the cpu."""
    return _to(self, "cpu")


def _new_tensor(self: Tensor, data: Any, **kwargs: Any) -> Tensor:
    """Make a tensor of the same dtype and device from data."""
    from .creation import tensor

    return tensor(data, **{"dtype": self.dtype, "device": self.device, **kwargs})


def _transposed(self: Tensor) -> Tensor:
    """Reverse the order of the dimensions."""
    result: Tensor = dc.ops.aten.numpy_T(self)
    return result


def _matrix_transposed(self: Tensor) -> Tensor:
    """Exchange the last two dimensions."""
    result: Tensor = dc.ops.aten.mT(self)
    return result


def _add_methods() -> None:
    for name, method in METHODS.items():
        if name not in Tensor.__dict__:
            setattr(Tensor, name, method)
    for name, dtype in DTYPES.items():
        if name in ("half", "float", "double", "short", "int", "long", "bool", "cfloat", "cdouble", "bfloat16"):
            setattr(Tensor, name, _cast(name, dtype))
    Tensor.byte = _cast("byte", ScalarType.Byte)  # type: ignore[attr-defined]  # completes the class
    Tensor.char = _cast("char", ScalarType.Char)  # type: ignore[attr-defined]
    Tensor.to = _to  # type: ignore[attr-defined]
    Tensor.type = _type  # type: ignore[attr-defined]
    Tensor.cpu = _cpu  # type: ignore[attr-defined]
    Tensor.new_tensor = _new_tensor  # type: ignore[attr-defined]
    Tensor.T = property(_transposed)  # type: ignore[attr-defined]
    Tensor.mT = property(_matrix_transposed)  # type: ignore[attr-defined]


_add_operators()
_add_methods()
