"""Other dtypes and devices for a tensor: ``to``, ``type`` and the methods named for one of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, cast

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType, as_dtype, get_default_dtype
from dispatch_core import frontends
from dispatch_core.schema import suggest_dtype

from ..overriding.handling import make_override
from ..tensors.arrays import is_recording
from ..tensors.tensor import Tensor
from ..values.chunks import convert_in_chunks
from ..values.devices import as_device, resolve_index
from ..values.dtypes import DTYPES, format_type


def _read_place(value: Any) -> Any:
    """Return a device; raises ``RuntimeError`` for the name of a dtype, which torch does not take as a text either."""
    try:
        return as_device(value)
    except dc.DispatchError:
        meant = suggest_dtype(value)
        if not meant:
            raise
    raise RuntimeError(f"Invalid device string: {value!r}{meant}")


_ask_to: Final = make_override(lambda: Tensor.to)


def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Return the tensor with another dtype or on another device, itself where nothing changes (source: ``Tensor.to``).

    Takes a dtype, a device, a device and a dtype, or a tensor whose both are wanted. Where a device is named, a tensor that
    awaits a pipeline has its elements afterwards, also where it lies there already. ``chunks`` says how a device that
    divides its arrays divides this one.
    """
    wanted = args[0] if len(args) == 1 and not kwargs else _only_wanted(self, args, kwargs)
    if wanted is not None:
        if type(wanted) is ScalarType:
            return self if wanted is self.dtype else _to_dtype(self, wanted)
        if isinstance(wanted, Tensor):
            if type(wanted) is not Tensor and (overridden := _ask_to((self, wanted), {})) is not NotImplemented:
                return cast("Tensor", overridden)
            if wanted.dtype is self.dtype and wanted.device == self.device:
                return self
        elif _is_on(self, wanted):
            return self
    if kwargs and kwargs.get("chunks") is not None:
        return convert_in_chunks(to, kwargs.pop("chunks"), self, args, kwargs)
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
        if rest and (isinstance(rest[0], (str, dc.Device)) or type(rest[0]) is int):
            given["device"] = _read_place(rest.pop(0))
        elif rest and rest[0] is None and ("dtype" in kwargs or (len(rest) > 1 and not isinstance(rest[1], bool))):
            del rest[0]  # no other device
        if rest and (rest[0] is None or isinstance(rest[0], (ScalarType, type))):
            given["dtype"] = rest.pop(0)
    for name, value in zip(("non_blocking", "copy"), rest, strict=False):
        given[name] = value
    if len(rest) > 2 or (rest and not isinstance(rest[0], bool)):
        raise TypeError(
            f"to() received an invalid combination of arguments - got ({', '.join(type(arg).__name__ for arg in args)})"
            f"{suggest_dtype(rest[0])}"
        )
    if repeated := given.keys() & kwargs:
        raise TypeError(f"to() got multiple values for argument '{min(repeated)}'")
    if unknown := kwargs.keys() - _NAMES:
        raise TypeError(f"to() got an unexpected keyword argument '{min(unknown)}'")
    if kwargs.get("device") is not None:
        kwargs["device"] = as_device(kwargs["device"])
    given.update(kwargs)
    device, dtype = given.get("device"), given.get("dtype")
    if device is not None:
        own = self.device
        device = given["device"] = resolve_index(device, own)
        if device == own and other is None and is_recording(self) and frontends.recording() is None:
            frontends.materialize(self)
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
        from .transfers import move  # few programs use two devices

        moved, wanted = move(self, device, dtype, bool(given.get("non_blocking"))), given.get("memory_format")
        return moved if wanted is None else to(moved, memory_format=wanted)
    return dc.ops.aten.to.dtype_layout(self, **given)


_NAMES: Final = {"device", "dtype", "non_blocking", "copy", "memory_format", "chunks", "layout"}


def _only_wanted(self: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the only thing that a call of ``to`` asks for that is not so already: a dtype or a device; else None."""
    if not args and len(kwargs) == 1:
        return kwargs.get("dtype") or kwargs.get("device")
    if len(args) == 2 and not kwargs and isinstance(args[0], (str, dc.Device)) and _is_on(self, args[0]):
        return args[1] if isinstance(args[1], ScalarType) else None
    return None


def _to_dtype(self: Tensor, dtype: ScalarType) -> Tensor:
    found: Tensor = dc.ops.aten.to.dtype(self, dtype)
    return found


def _is_on(tensor: Tensor, device: Any) -> bool:
    """Return whether a tensor lies on a device, given by name or as such, with its elements there: it need not be moved."""
    place = tensor.device
    if type(device) is str:
        return device == place.type and place.index is None and not is_recording(tensor)
    is_same = device is place or (
        type(device) is dc.Device and device.type == place.type and device.index == place.index
    )
    return is_same and not is_recording(tensor)


def _make_cast(name: str, dtype: ScalarType) -> Callable[..., Tensor]:
    def method(self: Tensor, memory_format: int | None = None) -> Tensor:
        if memory_format is None:
            return self if self.dtype is dtype else _to_dtype(self, dtype)
        return to(self, dtype, memory_format=memory_format)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"Return the tensor as {dtype}."
    return method


#: A tensor's type as `format_type` writes it: the device but for the cpu, and the dtype.
_TENSOR_TYPE: Final = re.compile(r"torch(?:like)?\.(?:(\w+)\.)?(\w+)Tensor")


def type_(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """Return the type's name, or the tensor with another dtype (source: ``Tensor.type``).

    Takes a dtype, an older type (``torchlike.FloatTensor``) or its name. Raises ``ValueError`` for the name of no type.
    """
    if dtype is None:
        return format_type(self)
    if isinstance(dtype, ScalarType):
        return to(self, dtype)
    if dtype is Tensor or dtype in ("torch.Tensor", "torchlike.Tensor"):
        return to(self, get_default_dtype())
    if not isinstance(dtype, str):
        from ..creation.legacy_types import LegacyType  # it makes all the older types

        if isinstance(dtype, LegacyType):
            return to(self, dtype.device_type, dtype.dtype)
        raise TypeError("dtype must be a type, str, or dtype object")
    spelled = _TENSOR_TYPE.fullmatch(dtype)
    if spelled is None or spelled[2] not in ScalarType.__members__:
        raise ValueError(f"invalid type: {dtype!r}")
    return to(self, spelled[1] or "cpu", ScalarType[spelled[2]])


def cpu(self: Tensor, *, memory_format: int | None = None) -> Tensor:
    """Return the tensor on the cpu."""
    if memory_format is not None:
        return to(self, _CPU, memory_format=memory_format)
    return self if _is_on(self, _CPU) else to(self, _CPU)


_CPU: Final = dc.Device.parse("cpu")
_CAST_NAMES: Final = ("half", "float", "double", "short", "int", "long", "bool", "cfloat", "cdouble", "bfloat16")
#: Methods that convert to the dtype that they are named for.
CASTS: Final = {
    **{name: _make_cast(name, DTYPES[name]) for name in _CAST_NAMES},
    "byte": _make_cast("byte", ScalarType.Byte),
    "char": _make_cast("char", ScalarType.Char),
}
