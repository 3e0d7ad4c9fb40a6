"""Every kernel of the backend by operator name with overload."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from . import creation, plain_creation, random
from .kernel_table import Kernel, KernelTable
from .ops import copy, inplace, pointwise, short_outs, short_ways

_KINDS: Final = (
    "activation adaptive_pooling complex_numbers convolution copy ctc distinct dropout factors fft index_writes indexing "
    "inplace linalg lists loss matmul normalization ordering padding pointwise pooling recurrent reduction resampling scans "
    "scatter selection special view"
)
_MODULES: Final = (
    creation,
    plain_creation,
    random,
    *(import_module(f".ops.{kind}", __package__) for kind in _KINDS.split()),
)

KERNELS: Final = KernelTable()
"""Every kernel of the ``aten`` namespace."""

for _module in _MODULES:
    KERNELS.update(_module.KERNELS)

SPECIALIZED: Final[dict[str, Kernel]] = {**pointwise.SPECIALIZED, **inplace.SPECIALIZED}
"""Kernels beside those of the same name in ``KERNELS``, for calls with ``alpha == 1``."""

SHORT_WAYS: Final = {**short_ways.SHORT_WAYS, **short_outs.make_short_outs(KERNELS)}
"""Functions for plain calls of operators that the backend has no kernels of."""

PRIMS: Final[dict[str, Kernel]] = {"device_get": copy.device_get, "device_put": copy.device_put}
"""The kernels of the ``prims`` namespace."""
