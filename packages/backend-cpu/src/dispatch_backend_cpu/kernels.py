"""Every kernel of the backend by operator name with overload."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from . import creation, plain_creation, random
from .kernel_table import Kernel, KernelTable
from .ops.networks import optimizers
from .ops.pointwise import inplace
from .ops.pointwise import kernels as pointwise
from .ops.short_ways import outs as short_outs
from .ops.short_ways import table as short_ways
from .ops.views import copy

_KINDS: Final = (
    "indexing.reads indexing.scatter indexing.writes linear_algebra.factors linear_algebra.fft "
    "linear_algebra.linalg linear_algebra.matmul networks.adaptive_pooling networks.convolution networks.ctc "
    "networks.loss networks.normalization networks.padding networks.pooling networks.recurrent "
    "networks.resampling networks.sampling pointwise.complex_numbers pointwise.dropout pointwise.inplace pointwise.kernels "
    "pointwise.special reductions.distinct reductions.kernels reductions.ordering reductions.scans "
    "reductions.selection short_ways.activation views.copy views.kernels views.lists"
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

PRIMS: Final[dict[str, Kernel]] = {
    "device_get": copy.device_get,
    "device_put": copy.device_put,
    "pin_memory": copy.pin_memory,
    **optimizers.PRIMS,
}
"""The kernels of the ``prims`` namespace."""
