"""Every kernel of the backend by operator name with overload: rows of the table, and what takes more than a row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from . import creation, fallback
from .aclnn.source import kernel
from .aclnn.table import OPERATORS
from .ops import copy, indexing, losses, reduction, special, view

__all__ = ["KERNELS", "PRIMS"]

KERNELS: Final[dict[str, Callable[..., Any]]] = {name: kernel(name) for name in OPERATORS}
"""Every kernel of the ``aten`` namespace."""

for _module in (creation, view, copy, special, reduction, losses, indexing, fallback):
    assert not KERNELS.keys() & _module.KERNELS.keys()
    KERNELS.update(_module.KERNELS)

PRIMS: Final[dict[str, Callable[..., Any]]] = {"device_get": copy.device_get, "device_put": copy.device_put}
"""The kernels of the ``prims`` namespace."""
