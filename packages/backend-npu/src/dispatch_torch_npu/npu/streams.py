"""``SyncLaunchStream``."""

from __future__ import annotations

from typing import Any

from . import _DEVICE

__all__ = ["SyncLaunchStream"]

_Stream: Any = _DEVICE.Stream


class SyncLaunchStream(_Stream):  # type: ignore[misc]  # the device's module makes its base
    """A stream whose work is launched by the calling thread, as that of every stream here (source: ``torch_npu.npu``)."""

    __slots__ = ()
