"""The forms of ``torch.cpu.amp`` and ``torch.cuda.amp``, which name their device: those of ``torch.amp``, with a warning."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from dispatch_aten.dtypes import ScalarType

from .autocasting import autocast, custom_bwd, custom_fwd
from .scaler import GradScaler
from .settings import default_dtype


def _warn(device: str, name: str, instead: str) -> None:
    warnings.warn(
        f"`torch.{device}.amp.{name}(args...)` is deprecated. Please use `torch.amp.{instead}` instead.",
        FutureWarning,
        stacklevel=3,
    )


def make_autocast(device: str) -> type[autocast]:
    """Return the class of a device's blocks."""
    usual = default_dtype(device)

    class DeviceAutocast(autocast):
        """Switch autocast on for one device, as torch's older name of ``torchlike.amp.autocast``, which takes the device."""

        def __init__(self, enabled: bool = True, dtype: ScalarType = usual, cache_enabled: bool = True) -> None:
            _warn(device, "autocast", f"autocast('{device}', args...)")
            super().__init__(device, dtype, enabled, cache_enabled)

    DeviceAutocast.__name__ = DeviceAutocast.__qualname__ = "autocast"
    return DeviceAutocast


def make_scaler(device: str) -> type[GradScaler]:
    """Return the class of a device's scalers."""

    class DeviceGradScaler(GradScaler):
        """Scale losses for one device, as torch's older name of ``torchlike.amp.GradScaler``, which takes the device."""

        def __init__(
            self,
            init_scale: float = 2.0**16,
            growth_factor: float = 2.0,
            backoff_factor: float = 0.5,
            growth_interval: int = 2000,
            enabled: bool = True,
        ) -> None:
            _warn(device, "GradScaler", f"GradScaler('{device}', args...)")
            super().__init__(device, init_scale, growth_factor, backoff_factor, growth_interval, enabled)

    DeviceGradScaler.__name__ = DeviceGradScaler.__qualname__ = "GradScaler"
    return DeviceGradScaler


def make_decorators(device: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return a device's decorators of custom functions, for ``forward`` and for ``backward``."""

    def forward(fwd: Any = None, *, cast_inputs: ScalarType | None = None) -> Any:
        """Cast as ``torchlike.amp.custom_fwd``, which takes the device; this is torch's older name."""
        _warn(device, "custom_fwd", f"custom_fwd(args..., device_type='{device}')")
        return custom_fwd(fwd, device_type=device, cast_inputs=cast_inputs)

    def backward(bwd: Any = None) -> Any:
        """Cast as ``torchlike.amp.custom_bwd``, which takes the device; this is torch's older name."""
        _warn(device, "custom_bwd", f"custom_bwd(args..., device_type='{device}')")
        return custom_bwd(bwd, device_type=device)

    forward.__name__ = forward.__qualname__ = "custom_fwd"
    backward.__name__ = backward.__qualname__ = "custom_bwd"
    return forward, backward
