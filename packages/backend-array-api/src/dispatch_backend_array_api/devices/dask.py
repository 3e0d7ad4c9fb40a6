"""The device ``dask``: Dask's arrays, which are computed late and in chunks, on a cluster if the program has a client."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Final

import dask.array as da

import dispatch_core as dc

from .. import dask_chunks, dask_cluster, dask_collecting, dask_indexing, dask_kernels, dask_settings
from ..backend import ArrayAPIBackend, array_api_backend
from ..library import Array, Kernel

settings: Final = dask_settings.settings


class DaskBackend(ArrayAPIBackend):
    """The hooks of a device that computes late."""

    fallback = ()  # it has its own

    @dc.hookimpl
    def dispatch_register(self, registry: dc.Registry) -> None:
        """Register the kernels, and the host's for all other operators, which say how much they collect."""
        super().dispatch_register(registry)
        dc.Library("_", "IMPL", registry=registry).fallback(dask_collecting.run_on_host, dc.device_key("dask"))

    def _finish(self, operator: str, kernel: Kernel) -> Kernel:
        return dask_cluster.name_results(operator, kernel)

    @dc.hookimpl
    def dispatch_compute(self, arrays: Sequence[Array]) -> list[Array]:
        """Compute the arrays, in one graph."""
        return dask_cluster.compute(arrays)

    @dc.hookimpl
    def dispatch_synchronize(self) -> None:
        """Wait for the cluster."""
        dask_cluster.synchronize()

    @dc.hookimpl
    def dispatch_runtime(self) -> Any:
        """Return the device's own interface: ``use_chunks``, ``settings`` and ``collected_bytes``."""
        return sys.modules[__name__]


use_chunks: Final = dask_chunks.use_chunks
collected_bytes: Final = dask_collecting.collected_bytes
backend: Final = array_api_backend(
    "dask",
    dask_chunks.Namespace(),
    array_types=(da.Array,),
    shape=dask_chunks.shape_of,
    get=dask_cluster.get,
    put=dask_chunks.put,
    assign=dask_indexing.assign,
    is_known=lambda array: False,
    kernels=dask_chunks.KERNELS | dask_indexing.KERNELS | dask_kernels.KERNELS,
    plugin=DaskBackend,
)
