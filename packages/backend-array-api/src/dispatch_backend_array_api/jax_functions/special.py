"""Special functions of ``jax.scipy.special``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ..library import ArrayLibrary, Kernel

KERNELS: Final[dict[str, Callable[[ArrayLibrary], Kernel]]] = {}
