"""The NPU's functions: devices, streams, events and memory, by torch's names (source: ``torch.npu``, ``torch.cuda``).

The backend of the device ``npu`` provides all this by the hook ``dispatch_runtime``; it is loaded at the first call, and
where there is none, only calls fail.

>>> import torchlike
>>> torchlike.npu.is_available() == (torchlike.npu.device_count() > 0)
True
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

import dispatch_core as dc
from dispatch_core import frontends
from dispatch_core.interrupts import whole
from dispatch_core.lazy_text import repr_by_attributes
from dispatch_core.tracebacks import api_boundary, trim_traceback

from .tensors.arguments import check_tensor
from .values.argument_types import DeviceLike

__all__ = [
    "availability",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "empty_cache",
    "get_device_name",
    "init",
    "is_available",
    "is_initialized",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "record_stream",
    "reset_peak_memory_stats",
    "set_device",
    "set_stream",
    "set_sync_timeout",
    "stream",
    "sync_timeout",
    "synchronize",
]

_NAME: Final = "npu"


def _get_runtime() -> Any:
    try:
        return frontends.runtime(_NAME)
    except Exception as error:
        trim_traceback(error)
        raise


def _to_index(value: Any) -> int | None:
    """Return the index of a device as users write it: None, a number, a name such as ``npu:1``, or a device."""
    if value is None or isinstance(value, int):
        return value
    found = dc.Device.parse(value)
    if found.type != _NAME:
        raise ValueError(f"Expected an {_NAME} device, but got: {found}")
    return found.index


@api_boundary
def __getattr__(name: str) -> Any:
    """Return the classes ``Stream`` and ``Event``, which are the backend's own."""
    if name not in ("Event", "Stream"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_get_runtime(), name)


def availability() -> dc.Availability:
    """Return whether an NPU can be used and, if not, the reason."""
    try:
        return frontends.availability(_NAME)
    except dc.DispatchError as error:
        return dc.Availability(False, str(error))


def is_available() -> bool:
    """Return whether an NPU can be used; ``availability()`` tells the reason."""
    return bool(availability())


def device_count() -> int:
    """Return the number of NPUs; 0 where none can be used."""
    return int(_get_runtime().device_count()) if is_available() else 0


def get_device_name(device: DeviceLike = None) -> str:
    """Return the chip's name."""
    _get_runtime().ensure(_to_index(device))
    return str(_get_runtime().device_name())


def init() -> None:
    """Open the thread's device now, which the first use of it would do too."""
    _get_runtime().ensure()


def is_initialized() -> bool:
    """Return whether an NPU was opened in this process."""
    return is_available() and bool(_get_runtime().is_initialized())


def current_device() -> int:
    """Return the number of the device that the thread works with, opening it."""
    return int(_get_runtime().ensure())


def set_device(device: Any) -> None:
    """Make another device the one that the thread works with."""
    index = _to_index(device)
    if index is not None:
        _get_runtime().set_current(index)


class device:  # noqa: N801  # torch's own name
    """Work with another device within a block: ``with torchlike.npu.device(1): ...``."""

    __repr__ = repr_by_attributes()

    def __init__(self, device: Any) -> None:
        self.idx = _to_index(device)
        self._guard: Any = None

    def __enter__(self) -> None:
        self._guard = _get_runtime().guard(self.idx)
        try:
            self._guard.__enter__()
        except BaseException:
            self._guard.__exit__(None, None, None)
            raise

    @whole
    def __exit__(self, *exception: object) -> None:
        try:
            self._guard.__exit__(*exception)
        except BaseException:
            # An interrupt; see Note [Where an interrupt falls] in `dispatch_core.interrupts`.
            self._guard.__exit__(None, None, None)
            raise


def synchronize(device: DeviceLike = None) -> None:
    """Wait until everything that was queued on a device is done."""
    _get_runtime().synchronize(_to_index(device))


def set_sync_timeout(seconds: float | None) -> None:
    """Limit every synchronisation with a device to this many seconds; None, the default, sets no limit.

    A device that takes longer raises an error, and does no more work in this process.
    """
    _get_runtime().set_sync_timeout(seconds)


def sync_timeout() -> float | None:
    """Return the time limit of synchronisations in seconds, None where there is none."""
    return _get_runtime().sync_timeout()


def current_stream(device: DeviceLike = None) -> Any:
    """Return the stream that the thread works with on a device."""
    with _get_runtime().guard(_to_index(device)):
        return _get_runtime().current()


def default_stream(device: DeviceLike = None) -> Any:
    """Return the stream of a device that threads work with until they choose another."""
    return _get_runtime().default(_to_index(device))


def set_stream(stream: Any) -> None:
    """Make a stream the one that the thread works with on the stream's device; None changes nothing."""
    if stream is not None:
        _get_runtime().set_stream(stream)


def stream(stream: Any) -> AbstractContextManager[Any]:
    """Work with a stream within a block; None changes nothing."""
    return nullcontext() if stream is None else stream


def record_stream(tensor: Any, stream: Any) -> None:
    """Note that a stream works with a tensor that another one was current for when it was made.

    Its memory is then used again only when that stream has passed the point where the tensor went.
    Raises ``ValueError`` for a tensor of another device.
    """
    check_tensor(tensor, "record_stream", "tensor")
    if tensor.device.type != _NAME:
        raise ValueError(f"Expected a tensor on {_NAME}, but got one on {tensor.device}")
    data = tensor._dispatch_data
    _get_runtime().record_stream(data.result() if tensor._pending else data, stream)


def empty_cache() -> None:
    """Return device memory that no tensor holds to the device."""
    if is_initialized():
        _get_runtime().empty_cache()


def memory_stats(device: DeviceLike = None) -> dict[str, int]:
    """Return statistics of a device's memory under torch's names; none where it has not been opened."""
    return dict(_get_runtime().memory_stats(_to_index(device))) if is_initialized() else {}


def memory_allocated(device: DeviceLike = None) -> int:
    """Return the number of bytes that tensors hold on a device."""
    return memory_stats(device).get("allocated_bytes.all.current", 0)


def max_memory_allocated(device: DeviceLike = None) -> int:
    """Return the largest number of bytes that tensors have held since the start or ``reset_peak_memory_stats``."""
    return memory_stats(device).get("allocated_bytes.all.peak", 0)


def memory_reserved(device: DeviceLike = None) -> int:
    """Return the number of bytes of the device that this process has reserved, held by tensors or cached."""
    return memory_stats(device).get("reserved_bytes.all.current", 0)


def max_memory_reserved(device: DeviceLike = None) -> int:
    """Return the largest number of bytes of the device that this process has reserved."""
    return memory_stats(device).get("reserved_bytes.all.peak", 0)


def reset_peak_memory_stats(device: DeviceLike = None) -> None:
    """Reset the peaks to the present amounts."""
    if is_initialized():
        _get_runtime().reset_peak_memory_stats(_to_index(device))


def mem_get_info(device: DeviceLike = None) -> tuple[int, int]:
    """Return the numbers of bytes of a device's memory that are free, and in all."""
    free, total = _get_runtime().mem_get_info(_to_index(device))
    return int(free), int(total)
