"""Torch's older names for autocast's settings, one for each device: they call those of `settings`, and warn."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Final

from .settings import get_autocast_dtype, is_autocast_enabled, set_autocast_dtype, set_autocast_enabled

#: How the older names call a device → the device.
_DEVICES: Final = {"cpu": "cpu", "gpu": "cuda", "ipu": "ipu", "xla": "xla"}
#: An older name, its arguments, and the function that is called with the device before them.
_FORMS: Final[tuple[tuple[str, str, Callable[..., Any]], ...]] = (
    ("get_autocast_{}_dtype", "", get_autocast_dtype),
    ("set_autocast_{}_dtype", "dtype", set_autocast_dtype),
    ("is_autocast_{}_enabled", "", is_autocast_enabled),
    ("set_autocast_{}_enabled", "enabled", set_autocast_enabled),
)


def _make(name: str, argument: str, function: Callable[..., Any], device: str) -> Callable[..., Any]:
    call = f"{function.__name__}({', '.join(filter(None, (repr(device), argument)))})"

    def old(*args: Any) -> Any:
        warnings.warn(
            f"torch.{name}({argument}) is deprecated. Please use torch.{call} instead.",
            DeprecationWarning,
            stacklevel=2,
        )
        return function(device, *args)

    old.__name__ = old.__qualname__ = name
    old.__doc__ = f"Call ``{call}``, and warn: torch's name for it is an older one."
    return old


__all__ = [
    name
    for form, _, _ in _FORMS
    for short in _DEVICES
    if (name := form.format(short)) not in ("is_autocast_gpu_enabled", "set_autocast_gpu_enabled")
]
globals().update(
    {
        name: _make(name, argument, function, device)
        for form, argument, function in _FORMS
        for short, device in _DEVICES.items()
        if (name := form.format(short)) in __all__
    }
)
