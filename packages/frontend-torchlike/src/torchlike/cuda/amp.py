"""Automatic mixed precision on CUDA, by torch's older names (source: ``torch.cuda.amp``)."""

from __future__ import annotations

from typing import Any

from ..amp.device_forms import make_autocast, make_decorators, make_scaler

__all__ = ["GradScaler", "amp_definitely_not_available", "autocast", "custom_bwd", "custom_fwd"]

autocast = make_autocast("cuda")
GradScaler = make_scaler("cuda")
custom_fwd, custom_bwd = make_decorators("cuda")


def amp_definitely_not_available(*_: Any) -> bool:
    """Return True: there is no CUDA here."""
    return True
