"""Automatic mixed precision (source: ``torch.amp``)."""

from __future__ import annotations

from .autocasting import autocast, custom_bwd, custom_fwd, is_autocast_available
from .scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
