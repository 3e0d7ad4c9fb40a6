"""Questions and switches that have one answer here, as torch_npu gives it on the chips that this backend is for."""

from __future__ import annotations

import os
import re
import warnings

from ..refusals import refuse

__all__ = [
    "clear_npu_overflow_flag",
    "current_blas_handle",
    "get_device_capability",
    "get_sync_debug_mode",
    "ipc_collect",
    "set_sync_debug_mode",
]

_CAPABILITY = "TORCH_NPU_DEVICE_CAPABILITY"


def get_device_capability(device: object = None) -> tuple[int, int] | None:
    """Return the numbers that the variable ``TORCH_NPU_DEVICE_CAPABILITY`` tells, as ``8.0``; None without it.

    They say nothing of the device, which torch_npu warns of, too (source: ``torch_npu.npu``).
    """
    found = re.fullmatch(r"(\d+)\.(\d+)", os.environ.get(_CAPABILITY, ""))
    warnings.warn(
        f"get_device_capability() is what the variable {_CAPABILITY} says, as '8.0': nothing of the device",
        stacklevel=2,
    )
    return None if found is None else (int(found[1]), int(found[2]))


def current_blas_handle() -> None:
    """Return None, with a warning: the device has no handle of a BLAS (source: ``torch_npu.npu``)."""
    warnings.warn("NPU does not use blas handle.", stacklevel=2)


def ipc_collect() -> None:
    """Return nothing, as there is nothing to collect: memory of a device is not shared between processes here.

    (source: ``torch_npu.npu``)

    >>> ipc_collect()
    """


def clear_npu_overflow_flag() -> None:
    """Warn that there is no flag of overflow to clear (source: ``torch_npu.npu``)."""
    warnings.warn("clear_npu_overflow_flag() does nothing on devices whose numbers overflow to infinity.", stacklevel=2)


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """Take ``"default"`` or 0: calls that wait are neither warned of nor refused (source: ``torch_npu.npu``).

    Raises ``NotServedError`` for ``"warn"`` and ``"error"``, ``RuntimeError`` for other values.

    >>> set_sync_debug_mode("default")
    """
    modes = {"default": 0, "warn": 1, "error": 2}
    number = modes.get(debug_mode) if isinstance(debug_mode, str) else debug_mode
    if number not in modes.values():
        raise RuntimeError("invalid value of debug_mode, expected one of `default`, `warn`, `error`")
    if number:
        refuse(f"set_sync_debug_mode({debug_mode!r})", "calls that wait are not watched", "torch.profiler shows them")


def get_sync_debug_mode() -> int:
    """Return that calls that wait are neither warned of nor refused: 0 (source: ``torch_npu.npu``).

    >>> get_sync_debug_mode()
    0
    """
    return 0
