"""The default device of a block or a function (source: ``torch.utils._device``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from dispatch_core.devices import default_device

from ..values.devices import device as make_device
from ._contextlib import context_decorator

F = TypeVar("F", bound=Callable[..., Any])


class DeviceContext:
    """A block whose tensors are made on a device, unless they name another.

    >>> import torchlike
    >>> with DeviceContext("meta"):
    ...     torchlike.ones(2).device
    device(type='meta')
    """

    def __init__(self, device: Any) -> None:
        self.device = make_device(device)

    def __enter__(self) -> None:
        self.device.__enter__()

    def __exit__(self, *exc: object) -> None:
        self.device.__exit__(*exc)


def device_decorator(device: Any, func: F) -> F:
    """Return a function whose tensors are made on a device, which is a block itself.

    >>> import torchlike
    >>> device_decorator(torchlike.device("meta"), torchlike.ones)(2).device
    device(type='meta')
    """
    return context_decorator(lambda: device, func)


def set_device(device: Any) -> Callable[[F], F]:
    """Return a decorator of functions whose tensors are made on a device.

    >>> import torchlike
    >>> @set_device("meta")
    ... def make():
    ...     return torchlike.ones(2)
    >>> make().device
    device(type='meta')
    """
    return lambda func: device_decorator(make_device(device), func)


def __getattr__(name: str) -> Any:
    """Return the default device of this thread where it is asked for."""
    if name == "CURRENT_DEVICE":
        return default_device()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
