"""The accelerator of this machine, whatever its device is called (source: ``torch.accelerator``).

It is the device that ``DISPATCH_ACCELERATOR`` names, else the only one here that can be used, of those whose backends say
that they are accelerators.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from typing import Any

import dispatch_core as dc
from dispatch_core import runtime
from dispatch_core.lazy_text import repr_by_attributes
from dispatch_core.tracebacks import api_boundary

from .device_modules.device_functions import DeviceFunctions
from .device_modules.modules import functions_of
from .values.argument_types import DeviceLike

__all__ = [
    "current_accelerator",
    "current_device_idx",
    "current_device_index",
    "current_stream",
    "device_count",
    "device_index",
    "empty_cache",
    "empty_host_cache",
    "get_device_capability",
    "get_memory_info",
    "is_available",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "set_device_idx",
    "set_device_index",
    "set_stream",
    "synchronize",
]


def is_available() -> bool:
    """Return whether there is one, or several."""
    return bool(runtime.list_accelerators(available=True))


def device_count() -> int:
    """Return the number of its devices; 0 where there is none."""
    found = dc.current_accelerator()
    return 0 if found is None else functions_of(found.type).device_count()


@api_boundary
def current_accelerator(check_available: bool = False) -> dc.Device | None:
    """Return its device without an index, None where there is none.

    Raises ``BackendError`` where there are several, with their names.
    """
    return dc.current_accelerator()


@api_boundary
def _find() -> DeviceFunctions:
    return functions_of(runtime.resolve(None).type)


def current_device_index() -> int:
    """Return the number of the device that the thread works with; ``RuntimeError`` where there is none."""
    return _find().current_device()


def set_device_index(device: Any, /) -> None:
    """Make another device the one that the thread works with; ``RuntimeError`` where there is none."""
    _find().set_device(device)


def current_device_idx() -> int:
    """Return `current_device_index`, of which this is the old name."""
    _warn_of_old_name("current_device_index")
    return current_device_index()


def set_device_idx(device: Any, /) -> None:
    """Do as `set_device_index`, of which this is the old name."""
    _warn_of_old_name("set_device_index")
    set_device_index(device)


def _warn_of_old_name(instead: str) -> None:
    warnings.warn(f"Use `{instead}` instead.", FutureWarning, stacklevel=3)


class device_index:  # noqa: N801  # torch's own name
    """Work with another device within a block; None changes nothing."""

    __repr__ = repr_by_attributes()

    def __init__(self, device: int | None, /) -> None:
        self.idx = device
        self._guard: Any = None

    def __enter__(self) -> None:
        if self.idx is not None:
            self._guard = _find().device(self.idx)
            self._guard.__enter__()

    def __exit__(self, *exception: object) -> None:
        if self._guard is not None:
            self._guard.__exit__(*exception)


def get_device_capability(device: DeviceLike = None, /) -> dict[str, Any]:
    """Return the dtypes that it computes with, as ``supported_dtypes``; ``RuntimeError`` where there is none."""
    from .values.dtypes import DTYPES

    found = _find()
    found.open(found.to_index(device))
    return {"supported_dtypes": set(found.interface.dtypes or DTYPES.values())}


def synchronize(device: DeviceLike = None, /) -> None:
    """Wait until everything that was queued is done; ``RuntimeError`` where there is none."""
    _find().synchronize(device)


def current_stream(device: DeviceLike = None, /) -> dc.Stream:
    """Return the stream that the thread works with; ``RuntimeError`` where there is none."""
    return _find().current_stream(device)


def set_stream(stream: dc.Stream) -> None:
    """Make a stream the thread's, and its device; ``RuntimeError`` where there is none, ``TypeError`` for other objects."""
    if not isinstance(stream, dc.Stream):
        raise TypeError(f"set_stream(): argument 'stream' must be Stream, not {type(stream).__name__}")
    _find().set_stream(stream)


def empty_cache() -> None:
    """Return memory that no tensor holds to the device; ``RuntimeError`` where there is none."""
    _find().empty_cache()


def empty_host_cache() -> None:
    """Do nothing: pinned memory is not kept for later tensors; ``RuntimeError`` where there is no accelerator."""
    _find()


def memory_stats(device_index: DeviceLike = None, /) -> OrderedDict[str, Any]:
    """Return statistics of its memory under torch's names; ``RuntimeError`` where there is none."""
    return OrderedDict(_find().memory_stats(device_index))


def memory_allocated(device_index: DeviceLike = None, /) -> int:
    """Return the number of bytes that tensors hold; ``RuntimeError`` where there is none."""
    return _find().memory_allocated(device_index)


def max_memory_allocated(device_index: DeviceLike = None, /) -> int:
    """Return the largest number of bytes that tensors have held; ``RuntimeError`` where there is none."""
    return _find().max_memory_allocated(device_index)


def memory_reserved(device_index: DeviceLike = None, /) -> int:
    """Return the number of bytes that this process has reserved; ``RuntimeError`` where there is none."""
    return _find().memory_reserved(device_index)


def max_memory_reserved(device_index: DeviceLike = None, /) -> int:
    """Return the largest number of bytes that this process has reserved; ``RuntimeError`` where there is none."""
    return _find().max_memory_reserved(device_index)


def reset_accumulated_memory_stats(device_index: DeviceLike = None, /) -> None:
    """Reset the sums of what was allocated and freed; ``RuntimeError`` where there is none."""
    _find().reset_accumulated_memory_stats(device_index)


def reset_peak_memory_stats(device_index: DeviceLike = None, /) -> None:
    """Reset the peaks to the present amounts; ``RuntimeError`` where there is none."""
    _find().reset_peak_memory_stats(device_index)


def get_memory_info(device_index: DeviceLike = None, /) -> tuple[int, int]:
    """Return the numbers of bytes of its memory that are free, and in all; ``RuntimeError`` where there is none."""
    return _find().mem_get_info(device_index)
