"""``chunks=`` of factories and of ``to``: how a device that divides its arrays divides a new one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import dispatch_core as dc
from dispatch_core import frontends

from .devices import as_device, factory_device

T = TypeVar("T")


def make_in_chunks(make: Callable[..., T], chunks: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> T:
    """Return a factory's result for a ``device`` among its keyword arguments, at once, divided as ``chunks`` says.

    Raises ``ArgumentError`` for a device that keeps each array in one piece.
    """
    device = factory_device(kwargs.get("device"))
    with _divide(dc.Device("cpu") if device is None else dc.Device.parse(device), chunks):
        made = make(*args, **kwargs)
        # In a pipeline, too: the chunks hold in this block alone.
        frontends.materialize(made)
    return made


def convert_in_chunks(
    to: Callable[..., Any], chunks: Any, tensor: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Return the result of ``to``, divided as ``chunks`` says; a tensor that is there already gets other chunks."""
    named = kwargs.get("device", args[0] if args and isinstance(args[0], (str, dc.Device)) else None)
    device: Any = tensor.device if named is None else as_device(named)
    with _divide(device, chunks):
        made = to(tensor, *args, **kwargs)
        if made.device.type == tensor.device.type:
            made = made.clone()
        frontends.materialize(made)
    return made


def _divide(device: dc.Device, chunks: Any) -> Any:
    try:
        use_chunks = getattr(frontends.runtime(device.type), "use_chunks", None)
    except dc.BackendNotFoundError:
        raise
    except dc.BackendError:  # the device has no interface of its own
        use_chunks = None
    if use_chunks is None:
        raise dc.ArgumentError(
            f"chunks={chunks!r}: device {device.type!r} keeps every array in one piece",
            hint='leave chunks= out, or name a device that divides its arrays, such as "dask"',
        )
    return use_chunks(chunks)
