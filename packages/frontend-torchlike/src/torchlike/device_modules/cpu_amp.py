"""Automatic mixed precision on the cpu, by torch's older names (source: ``torch.cpu.amp``)."""

from __future__ import annotations

from ..amp.device_forms import make_autocast, make_scaler

__all__ = ["GradScaler", "autocast"]

autocast = make_autocast("cpu")
GradScaler = make_scaler("cpu")
