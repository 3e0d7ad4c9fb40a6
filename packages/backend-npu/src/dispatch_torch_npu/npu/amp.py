"""``torch_npu.npu.amp``: autocast and the scaler of losses of torch, for this device."""

from __future__ import annotations

from typing import Any, Final

from . import _DEVICE

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]

_AMP: Final = _DEVICE.amp
GradScaler: Any = _AMP.GradScaler
autocast: Any = _AMP.autocast
custom_bwd: Any = _AMP.custom_bwd
custom_fwd: Any = _AMP.custom_fwd
