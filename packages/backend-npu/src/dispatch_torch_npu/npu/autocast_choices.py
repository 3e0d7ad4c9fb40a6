"""The choices of autocast on this device, by torch_npu's names."""

from __future__ import annotations

import torchlike

__all__ = ["get_autocast_dtype", "is_autocast_enabled", "set_autocast_dtype", "set_autocast_enabled"]


def is_autocast_enabled() -> bool:
    """Return whether autocast is on for this device (source: ``torch_npu.npu``).

    >>> with torchlike.autocast("npu", torchlike.float16):
    ...     is_autocast_enabled()
    True
    """
    return torchlike.is_autocast_enabled("npu")


def set_autocast_enabled(enable: bool) -> None:
    """Turn autocast on or off for this device (source: ``torch_npu.npu``).

    >>> set_autocast_enabled(False)
    """
    torchlike.set_autocast_enabled("npu", enable)


def get_autocast_dtype() -> torchlike.dtype:
    """Return the dtype that autocast computes in on this device (source: ``torch_npu.npu``).

    >>> get_autocast_dtype()
    torchlike.float16
    """
    return torchlike.get_autocast_dtype("npu")


def set_autocast_dtype(dtype: torchlike.dtype) -> None:
    """Choose the dtype that autocast computes in on this device (source: ``torch_npu.npu``).

    >>> set_autocast_dtype(torchlike.float16)
    """
    torchlike.set_autocast_dtype("npu", dtype)
