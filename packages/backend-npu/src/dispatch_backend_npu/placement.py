"""Kernels that run on the device of their arrays, for processes that work with several devices.

Note [One device is the rule]
    Kernels work on the thread's device. While a process has opened one device, every array lies there, and kernels are
    registered as they are; only factories read their argument ``device``. When a second device is opened, which is before
    an array can lie there, every kernel is registered again, wrapped by ``on_array_device``. Pipelines serve one device:
    they are flushed then, and record none of these kernels afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, Final
from weakref import WeakKeyDictionary

import dispatch_core as dc
from dispatch_aten.operators import KIND_OF, row_of

from .arrays import AclArray, from_numpy, to_numpy
from .runtime.device import guard

_ORIGINALS: Final[WeakKeyDictionary[Any, Any]] = WeakKeyDictionary()
#: The kinds of the operators that take a device: the rows of all others need not be read.
_KINDS: Final = frozenset({"copy", "factory", "random"})


def takes_device(name: str) -> bool:
    """Return whether an operator has an argument ``device``."""
    return KIND_OF.get(name) in _KINDS and "Device? device" in row_of(name).schema


def on_requested_device(name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a kernel so that it runs on the device of its argument ``device``; return kernels without one as they are."""
    if not takes_device(name):
        return kernel

    def on_named_device(*args: Any, **kwargs: Any) -> Any:
        device = kwargs.get("device")
        if device is None or device.index is None:
            return kernel(*args, **kwargs)
        with guard(device.index) as index:
            return kernel(*[_to_device(value, index) for value in args], **kwargs)

    _ORIGINALS[on_named_device] = kernel
    on_named_device.__wrapped__ = kernel  # type: ignore[attr-defined]  # as functools.wraps sets it
    return on_named_device


def unwrap_kernel(kernel: Any) -> Any:
    """Return the kernel that ``on_requested_device`` has wrapped, any other function as it is.

    The wrapper is found by identity: a program's own kernel may wrap ours and do something else.
    """
    return _ORIGINALS.get(kernel, kernel) if type(kernel) is FunctionType else kernel


def on_array_device(name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a kernel so that it runs on the device of its arrays, which is one device, except for a copy between two.

    The kernel raises ``DeviceMismatchError`` for arrays of different devices.
    """
    inner = on_requested_device(name, kernel)

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
                args = (args[0], _to_device(args[1], index), *args[2:])
            return inner(*args, **kwargs)

    on_its_arrays_device.__wrapped__ = kernel  # type: ignore[attr-defined]  # as functools.wraps sets it
    return dc.KernelTraits(runs_at_once="several devices are open")(on_its_arrays_device)


def _arrays(values: Any) -> Iterator[AclArray]:
    for value in values:
        if isinstance(value, AclArray):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _arrays(value)


def _to_device(value: Any, device: int) -> Any:
    """Return an array of another device as a copy on this one, by way of the host, and any other value as it is."""
    if not isinstance(value, AclArray) or value.block.device == device:
        return value
    with guard(value.block.device):
        host = to_numpy(value)
    return from_numpy(host)
