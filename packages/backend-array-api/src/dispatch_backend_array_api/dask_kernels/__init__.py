"""Kernels of the device ``dask`` that work chunk by chunk where the standard has no function, or one that collects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ..library import ArrayLibrary, Kernel
from . import counting, factorizations, hosted, moments, selection

#: Operator → function of the library that makes its kernel.
KERNELS: Final[dict[str, Callable[[ArrayLibrary], Kernel]]] = {
    **hosted.KERNELS,
    **factorizations.KERNELS,
    **selection.KERNELS,
    **counting.KERNELS,
    **moments.KERNELS,
}
