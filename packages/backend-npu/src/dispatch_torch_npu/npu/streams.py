"""Kinds of streams: ``SyncLaunchStream``, ``ExternalStream``."""

from __future__ import annotations

from typing import Any

from dispatch_backend_npu import runtime

from . import _DEVICE

__all__ = ["ExternalStream", "SyncLaunchStream"]

_Stream: Any = _DEVICE.Stream


class SyncLaunchStream(_Stream):  # type: ignore[misc]  # the device's module makes its base
    """A stream whose work is launched by the calling thread, as that of every stream here (source: ``torch_npu.npu``)."""

    __slots__ = ()


class ExternalStream(_Stream):  # type: ignore[misc]  # as above
    """A stream of another library, which keeps it; it is waited for and recorded as others are (source: ``torch_npu.npu``).

    Args:
        stream_ptr: Its ``aclrtStream``, as a number.
        device: The device that it belongs to; the thread's by default.
    """

    __slots__ = ()

    def __init__(self, stream_ptr: int, device: Any = None) -> None:
        if type(stream_ptr) is not int or not stream_ptr:
            raise TypeError(f"stream_ptr is the address of an aclrtStream, not {stream_ptr!r}")
        super().__init__(device)
        # A slot of the base, which the device's module makes.
        self.native_handle = runtime.ForeignStream(stream_ptr, self.device_index)  # type: ignore[misc]  # as above
