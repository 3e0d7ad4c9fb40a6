"""The older types of tensors and storages of this device, ``FloatTensor`` and ``FloatStorage`` and their like."""

from __future__ import annotations

from typing import Any

import torchlike

__all__: list[str] = []

_NAMES = "BFloat16 Bool Byte Char Double Float Half Int Long Short".split()


class _TensorType(type):
    """The type of these types: a call makes a tensor on the device."""

    dtype: torchlike.dtype

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Make a tensor of sizes, of data, or an empty one."""
        return _make_tensor(cls.dtype, *args, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, torchlike.Tensor) and _is_of(instance, cls.dtype)


class _StorageType(type):
    """The type of these types: a call makes a storage on the device."""

    dtype: torchlike.dtype

    def __call__(cls, *args: Any) -> Any:
        """Make a storage of a size, or of data."""
        return _make_tensor(cls.dtype, *args).storage()

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, torchlike.TypedStorage) and _is_of(instance, cls.dtype)


def _make_tensor(dtype: torchlike.dtype, *args: Any, **kwargs: Any) -> torchlike.Tensor:
    if len(args) == 1 and not isinstance(args[0], (int, torchlike.Size)):
        data = args[0]
        if isinstance(data, torchlike.Tensor) and data.dtype is not dtype:
            raise TypeError(f"expected {dtype!r} (got {data.dtype!r})")
        return torchlike.as_tensor(data, dtype=dtype, device="npu", **kwargs).detach()
    return torchlike.empty(*(args or (0,)), dtype=dtype, device="npu", **kwargs)


def _is_of(instance: Any, dtype: torchlike.dtype) -> bool:
    return instance.dtype is dtype and instance.device.type == "npu"


def _make(name: str, kind: type, what: str) -> Any:
    dtype = getattr(torchlike, f"{name}Tensor").dtype
    members = {"dtype": dtype, "__module__": __name__, "__doc__": f"{what} of {dtype.short} on this device."}
    return kind(f"{name}{what.removesuffix('s')}", (), members)


for _name in _NAMES:
    for _kind, _what in ((_TensorType, "Tensors"), (_StorageType, "Storages")):
        _type = _make(_name, _kind, _what)
        globals()[_type.__name__] = _type
        __all__ += [_type.__name__]  # noqa: PLE0604  # names of a table
