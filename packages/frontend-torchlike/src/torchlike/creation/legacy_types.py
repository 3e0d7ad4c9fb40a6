"""Torch's older types of tensors, one for each dtype: they make tensors, and ask whether one is of their dtype.

>>> import torchlike
>>> torchlike.FloatTensor([1, 2]), isinstance(torchlike.ones(2), torchlike.FloatTensor)
(tensor([1., 2.]), True)
"""

from __future__ import annotations

from typing import Any, Final

from dispatch_aten.dtypes import ScalarType, set_default_dtype

from ..names.spelling import spell
from ..tensors.tensor import Tensor
from ..values.size import Size
from .factories import FACTORIES, as_tensor

_NAMES: Final = {
    **{name: ScalarType[name] for name in "BFloat16 Bool Byte Char Double Float Half Int Long Short".split()},
    "ComplexDouble": ScalarType.ComplexDouble,
    "ComplexFloat": ScalarType.ComplexFloat,
}


class LegacyType(type):
    """The type of these types: a call makes a tensor."""

    dtype: Any
    device_type: str

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Make a tensor of sizes, of data, or an empty one; ``TypeError`` where there is no such device."""
        if cls.device_type != "cpu":
            title = cls.device_type.upper()
            raise TypeError(
                f"type torch.{cls.device_type}.{cls.__name__} not available. Torch not compiled with {title} enabled."
            )
        if len(args) == 1 and not isinstance(args[0], (int, Size)):
            (data,) = args
            if isinstance(data, Tensor):
                if data.dtype is not cls.dtype:
                    raise TypeError(f"expected {cls.dtype!r} (got {data.dtype!r})")
                return data.detach()
            # A copy: older programs change tensors that they made of arrays.
            return as_tensor(data, cls.dtype, "cpu").clone()
        return FACTORIES["empty"](*(args or (0,)), dtype=cls.dtype, **{"device": "cpu", **kwargs})

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype and instance.device.type == cls.device_type

    def __repr__(cls) -> str:
        device = "" if cls.device_type == "cpu" else f"{cls.device_type}."
        return f"<class '{spell()}.{device}{cls.__name__}'>"


def list_types(device_type: str = "cpu") -> dict[str, LegacyType]:
    """Return the types of a device by their names, ``FloatTensor`` and its like."""
    module = spell("torchlike" if device_type == "cpu" else f"torchlike.{device_type}")
    return {
        f"{name}Tensor": LegacyType(
            f"{name}Tensor",
            (),
            {
                "dtype": dtype,
                "device_type": device_type,
                "__module__": module,
                "__doc__": f"Tensors of {dtype} on the device {device_type}; a call makes one of sizes or of data.",
            },
        )
        for name, dtype in _NAMES.items()
    }


def set_default_tensor_type(t: Any) -> None:
    """Choose the default dtype by the older name of a type (source: ``torch.set_default_tensor_type``).

    Raises ``TypeError`` for a type of a device that is not there, or of integers.
    """
    if isinstance(t, str):
        device, _, name = t.removeprefix("torchlike.").removeprefix("torch.").rpartition(".")
        t = list_types(device or "cpu").get(name)
        if t is None:
            raise TypeError(f"invalid type object: {name}")
    if t is Tensor:
        t = list_types()["FloatTensor"]
    if not isinstance(t, LegacyType):
        raise TypeError("invalid type object")
    if t.device_type != "cpu":
        title = t.device_type.upper()
        raise TypeError(
            f"type torch.{t.device_type}.{t.__name__} not available. Torch not compiled with {title} enabled."
        )
    if not t.dtype.is_floating_point:
        raise TypeError(f"only floating-point types are supported as the default type, got {t.dtype}")
    set_default_dtype(t.dtype)


_TYPES: Final = list_types()
globals().update(_TYPES)


def find_type(tensor: Tensor) -> LegacyType | None:
    """Return the older type of a tensor, None where it has none."""
    return next((each for each in _TYPES.values() if isinstance(tensor, each)), None)
