"""Frontends, by which the kit makes tensors; without one the parts that need tensors are not run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from dispatch_core.tools import find_frontends

from .drawing import Array


class Adapter(Protocol):
    """The methods of the object behind an entry point of the group ``dispatch_core.frontends``."""

    def make(self, values: Array, device: str, *, requires_grad: bool = False) -> Any:
        """Return a tensor on a device with NumPy's values."""

    def read(self, tensor: Any) -> Array:
        """Return a tensor's values as NumPy's, from any device."""

    def detach(self, tensor: Any) -> Any:
        """Return a tensor with the same memory and no history."""

    def move(self, tensor: Any, device: str) -> Any:
        """Return the tensor on another device."""

    def gradients(self, outputs: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
        """Return the gradients of the outputs' sums by the inputs, None where nothing depends on one."""


def find_adapter() -> Adapter | None:
    """Return the first frontend's adapter, by name; None where no frontend is installed."""
    found: dict[str, Adapter] = find_frontends()
    return next((found[name] for name in sorted(found)), None)
