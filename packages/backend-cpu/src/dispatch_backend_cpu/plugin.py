"""The plugin: what the cpu backend is, and the registration of its kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

import dispatch_core as dc
from dispatch_core.lending import memory_of

from . import creation, random
from ._table import Kernel, KernelTable
from .arrays import coerce, dtype_of, shape_of, storage_offset_of, strides_of
from .ops import copy, indexing, inplace, lists, matmul, pointwise, reduction, softmax, sorting, view

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dispatch_core.pipelines.program import PlannedStep, Program

__all__ = ["COVERED", "KERNELS", "dispatch_backend_info", "dispatch_is_available", "dispatch_plan", "dispatch_register"]

KERNELS: Final = KernelTable()
"""Every kernel of the ``aten`` namespace, by operator name with overload."""

for _module in (creation, random, pointwise, inplace, reduction, matmul, softmax, view, copy, indexing, lists, sorting):
    KERNELS.update(_module.KERNELS)

COVERED: Final[dict[str, Kernel]] = {**pointwise.COVERED, **inplace.COVERED}
"""Kernels beside those of the same name in ``KERNELS``, for calls with ``alpha == 1``."""


@dc.hookimpl
def dispatch_backend_info() -> dc.BackendInfo:
    """Describe the backend: device ``cpu``, key CPU, arrays of NumPy."""
    array = dc.ArrayType(
        np.ndarray,
        shape=shape_of,
        strides=strides_of,
        storage_offset=storage_offset_of,
        dtype=dtype_of,
        coerce=coerce,
        storage=lambda array: id(memory_of(array)),
        layout=lambda array: (array.shape, array.strides, array.dtype),
    )
    return dc.BackendInfo("cpu", "CPU", (array,))


@dc.hookimpl
def dispatch_register(registry: dc.Registry) -> None:
    """Register every kernel under the key CPU."""
    aten = dc.Library("aten", "IMPL", "CPU", registry=registry)
    for name, kernel in KERNELS.items():
        aten.impl(name, kernel)
    for name, kernel in COVERED.items():
        aten.impl(name, kernel, when=("alpha", 1))
    prims = dc.Library("prims", "IMPL", "CPU", registry=registry)
    prims.impl("device_get", copy.device_get)
    prims.impl("device_put", copy.device_put)


@dc.hookimpl
def dispatch_plan(program: Program) -> Iterable[PlannedStep]:
    """Run chains of element-wise operators together."""
    from .plan import plan  # what plans stands above what is planned

    return plan(program)


@dc.hookimpl
def dispatch_is_available() -> bool:
    """Say yes: there is no machine without a cpu."""
    return True
