"""Fourier transforms by ``numpy.fft``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ...arrays import Array
from ...kernel_table import KernelTable
from ...output_specs import OutputSpec
from ..support.rule_kernels import make_kernel

KERNELS: Final = KernelTable()

#: torch's numbers for no scaling, by the root of the size and by the size → NumPy's names, forward and inverse.
_NORMS: Final[tuple[tuple[Any, ...], tuple[Any, ...]]] = (
    ("backward", "ortho", "forward"),
    ("forward", "ortho", "backward"),
)


def _transform(spec: OutputSpec, self: Array, dim: Sequence[int], normalization: int, option: int) -> Any:
    """Transform complex numbers, forward or not; real ones, to one half or not; or one half to ``option`` real ones."""
    if not dim:
        return self.copy()
    real_result, real_input = spec.array_dtype.kind == "f", self.dtype.kind == "f"
    forward = real_input or (not real_result and bool(option))
    norm = _NORMS[not forward][normalization]
    if real_result:
        return np.fft.irfftn(self, [spec.shape[each] for each in dim], dim, norm)
    if real_input and option:
        return np.fft.rfftn(self, axes=dim, norm=norm)
    return (np.fft.fftn if forward else np.fft.ifftn)(self, axes=dim, norm=norm)


for _name in ("_fft_c2c", "_fft_c2r", "_fft_r2c"):
    KERNELS[_name] = make_kernel(_name, _transform)
