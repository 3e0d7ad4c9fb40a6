"""Kernels on the device that their arrays lie on, where a process works with several.

Note [One device is the rule]
    Kernels work on the thread's device. As long as a process has opened one device, that is where every array lies, and
    they are registered as they are; only factories look at the device that they are asked for. When a second device is
    opened, which is before an array can lie there, every kernel is registered anew, as ``placed`` makes it. Pipelines, which
    know of one device, compute what they have recorded by then, and record no more of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, Final
from weakref import WeakKeyDictionary

import dispatch_core as dc
from dispatch_aten.operators import ATEN

from .arrays import AclArray, from_numpy, to_numpy
from .runtime.device import guard

__all__ = ["located", "original", "placed"]

_ORIGINALS: Final[WeakKeyDictionary[Any, Any]] = WeakKeyDictionary()
_FACTORIES: Final = {operator.name for operator in ATEN if "Device? device" in operator.schema}


def located(name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Give a kernel that works on the device that its argument ``device`` names; those without one as they are."""
    if name not in _FACTORIES:
        return kernel

    def on_named_device(*args: Any, **kwargs: Any) -> Any:
        device = kwargs.get("device")
        if device is None or device.index is None:
            return kernel(*args, **kwargs)
        with guard(device.index) as index:
            return kernel(*[_brought(value, index) for value in args], **kwargs)

    _ORIGINALS[on_named_device] = kernel
    on_named_device.__wrapped__ = kernel  # type: ignore[attr-defined]  # it is named so
    return on_named_device


def original(kernel: Any) -> Any:
    """Give the kernel that a function made by ``located`` calls in the end.

    By identity: a program's own kernel may wrap ours and mean something else.
    """
    return _ORIGINALS.get(kernel, kernel) if type(kernel) is FunctionType else kernel


def placed(name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Give a kernel that works on the device of its arrays; all must lie on the same, but for copies between two.

    Raises ``DeviceMismatchError`` where they do not.
    """
    inner = located(name, kernel)

    def on_its_arrays_device(*args: Any, **kwargs: Any) -> Any:
        devices = list(dict.fromkeys(array.block.device for array in _arrays((*args, *kwargs.values()))))
        if not devices:
            return inner(*args, **kwargs)
        with guard(devices[0]) as index:
            if len(devices) > 1:
                if name != "copy_":
                    raise dc.DeviceMismatchError(
                        f"aten::{name}: Expected all tensors to be on the same device, but found "
                        + " and ".join(f"npu:{device}" for device in devices),
                        hint="move them by to(device)",
                    )
                args = (args[0], _brought(args[1], index), *args[2:])
            return inner(*args, **kwargs)

    on_its_arrays_device.__wrapped__ = kernel  # type: ignore[attr-defined]  # it is named so
    on_its_arrays_device.runs_at_once = "several devices are open"  # type: ignore[attr-defined]  # pipelines read it
    return on_its_arrays_device


def _arrays(values: Any) -> Iterator[AclArray]:
    for value in values:
        if isinstance(value, AclArray):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _arrays(value)


def _brought(value: Any, device: int) -> Any:
    """Give an array of another device as a copy on this one, by way of the host; anything else as it is."""
    if not isinstance(value, AclArray) or value.block.device == device:
        return value
    with guard(value.block.device):
        host = to_numpy(value)
    return from_numpy(host)
