"""Methods and questions that tensors and modules have for the device of any backend: ``x.opencl()``, ``x.is_opencl``.

They are named when the core tells the names of devices, and are there while the device has an interface: `DeviceMethod`
looks at each access. A device whose name tensors have for something else gets none.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, Final

import dispatch_core as dc
from dispatch_core.tracebacks import api_boundary

from ..names.lazy_attributes import LazyAttribute
from ..names.lazy_names import LeftOut
from ..tensors.tensor import Tensor
from .absent_names import ABSENT, GIVERS, KNOWN, MOVED, PLAIN

__all__ = ["GENERATED", "give_methods", "is_method_taken", "note_devices"]

#: The devices whose methods the program asked for, be there a backend or not.
GENERATED: Final[set[str]] = set()
_QUESTION: Final = "is_"


class DeviceMethod(LeftOut):
    """Stands in the tensor class for a device's method or question; the name is left out where there is no such device."""

    __slots__ = ("_before",)

    def __init__(self, name: str, before: Any) -> None:
        super().__init__(name)
        #: The attribute of torch's whose answer is no while there is no such device.
        self._before = before

    def is_there(self) -> bool:
        return self._before is not None or _has_methods(self._name.removeprefix(_QUESTION))

    @api_boundary
    def __get__(self, instance: Any, owner: type) -> Any:
        device = self._name.removeprefix(_QUESTION)
        if _has_methods(device):
            if device != self._name:
                return self if instance is None else instance.device.type == device
            return partial(_move, device) if instance is None else partial(_move, device, instance)
        if self._before is not None:
            return self._before.__get__(instance, owner)
        return super().__get__(instance, owner)


class DeviceQuestion(DeviceMethod):
    """The same for a question, which programs cannot set; a method's name is free for an attribute of theirs."""

    __slots__ = ()

    def __set__(self, instance: Any, value: Any) -> None:
        raise AttributeError(f"attribute {self._name!r} of {type(instance).__name__!r} objects is not writable")


def _has_methods(device: str) -> bool:
    from dispatch_core.runtime import has_interface  # programs on the cpu come no further than the names

    return device in GENERATED or has_interface(device)


def to_place(name: str, device: Any) -> dc.Device:
    """Return a device of a type as users write it: None for the thread's, an index, a name or a device.

    Raises ``RuntimeError`` for a device of another type.
    """
    from dispatch_core import runtime  # as above

    if device is None or isinstance(device, int):
        current = runtime.find_interface(name).current if device is None else None
        return dc.Device(name, (current() if current is not None else 0) if device is None else device)
    found = dc.Device.parse(device)
    if found.type != name:
        raise RuntimeError(f"Invalid device, must be {name} device")
    return runtime.resolve(found)


@api_boundary
def _move(name: str, self: Any, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Any:
    """Return the tensor on a device of this type, by default the thread's, itself if it is there already."""
    form = {} if memory_format is None else {"memory_format": memory_format}
    return self.to(to_place(name, device), non_blocking=non_blocking, **form)


def is_method_taken(name: str) -> bool:
    """Return whether tensors have a name for something else, so that a device of that name gets no method."""
    if name in ABSENT or name in PLAIN:
        return name in PLAIN
    return any(
        not isinstance(vars(kind)[each], LeftOut)
        for kind in Tensor.__mro__
        for each in (name, f"{_QUESTION}{name}")
        if each in vars(kind)
    )


def note_devices(names: Iterable[str]) -> None:
    """Give tensors the methods of devices."""
    for name in names:
        if name in KNOWN or name[:1] == "_" or is_method_taken(name):
            continue
        KNOWN.add(name)
        for each in (name, f"{_QUESTION}{name}"):
            before = vars(Tensor).get(each)
            if isinstance(before, LazyAttribute):
                before = before.value
            kind = DeviceMethod if each == name else DeviceQuestion
            setattr(Tensor, each, kind(each, None if type(before) is LeftOut else before))
        give_methods([name])


class MoveMethod:
    """Stands in the class of modules, or of packed sequences, for a device's method or question.

    A part of a module that has the name is found before it.
    """

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        name = self._name
        device = name.removeprefix(_QUESTION)
        for kind in _PARTS if instance is not None else ():
            if name in (found := vars(instance).get(kind, {})):
                return found[name]
        if _has_methods(device):
            if device != name:
                return self if instance is None else instance.data.device.type == device
            return partial(_move_whole, name) if instance is None else partial(instance._move_to_device, name)
        whose = f"type object {owner.__name__!r}" if instance is None else f"{owner.__name__!r} object"
        raise AttributeError(
            f"{whose} has no attribute {name!r}", name=name, obj=owner if instance is None else instance
        )


_PARTS: Final = ("_parameters", "_buffers", "_modules")


def _move_whole(name: str, self: Any, *args: Any, **kwargs: Any) -> Any:
    """Move a module, or a packed sequence, to a device of this type."""
    return self._move_to_device(name, *args, **kwargs)


def give_methods(names: Iterable[str]) -> None:
    """Give the classes of modules and packed sequences the methods of devices; their own names stay."""
    for owner, is_asked in MOVED.items():
        for name in names:
            for each in (name, *([f"{_QUESTION}{name}"] if is_asked else [])):
                if not hasattr(owner, each):
                    setattr(owner, each, MoveMethod(each))


GIVERS.append(give_methods)
