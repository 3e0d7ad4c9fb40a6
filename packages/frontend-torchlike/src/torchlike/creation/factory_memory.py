"""The argument ``pin_memory`` of factories."""

from __future__ import annotations

from typing import Any

import dispatch_core as dc

from ..tensors.tensor import Tensor
from ..values.layouts import layout_of, strided

__all__ = ["check_pinning", "pin_made"]


def check_pinning(name: str, wanted: Any, *, none: bool = True) -> bool:
    """Return whether a call asks for pinned memory; ``TypeError`` for other objects, and for None without ``none``."""
    if wanted is True or wanted is False:
        return wanted
    if wanted is None and none:
        return False
    raise TypeError(f"{name}(): argument 'pin_memory' must be bool, not {type(wanted).__name__}")


def pin_made(made: Tensor) -> Tensor:
    """Return a tensor that a factory has made in pinned memory; one on meta as it is.

    Raises ``RuntimeError`` for another device, and where there is no accelerator, or it has no memory to pin.
    """
    if made.is_meta:
        return made
    if not made.is_cpu or layout_of(made) is not strided:
        raise RuntimeError(
            f"Only dense CPU tensors can be pinned\nHint: pin_memory=True made one of layout {layout_of(made)} on"
            f" {made.device}; leave it out"
        )
    if dc.current_accelerator() is None:
        raise RuntimeError(
            "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory allocator is available on this"
            " system."
        )
    pinned: Tensor = made.detach().pin_memory()
    return pinned._require_grad() if made.requires_grad else pinned
