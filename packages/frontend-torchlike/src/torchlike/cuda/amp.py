"""Automatic mixed precision on CUDA, which is not there (source: ``torch.cuda.amp``)."""

from __future__ import annotations

from typing import Any

from ..amp import GradScaler as _GradScaler
from ..amp import autocast as _autocast
from ..amp import custom_bwd, custom_fwd

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


def autocast(enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> _autocast:
    """Return the context of the device, which is disabled with a warning."""
    return _autocast("cuda", dtype, enabled, cache_enabled)


def GradScaler(*args: Any, **kwargs: Any) -> _GradScaler:  # noqa: N802  # torch's name
    """Return a scaler for the device, which is disabled with a warning."""
    return _GradScaler("cuda", *args, **kwargs)
