"""JAX's functions for what the standard lacks: factors of matrices, transforms, scattered reductions, special functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ..library import ArrayLibrary, Kernel
from . import factors, scatters, solutions, special, spectra, transforms

#: Operator → function of the library that makes the kernel.
KERNELS: Final[dict[str, Callable[[ArrayLibrary], Kernel]]] = {
    **factors.KERNELS,
    **solutions.KERNELS,
    **spectra.KERNELS,
    **transforms.KERNELS,
    **scatters.KERNELS,
    **special.KERNELS,
}
