"""Processes that work together (source: ``torch.distributed``).

A program makes a group of them by ``init_process_group``. One process is a group with every backend; several exchange data
by the ``collectives`` of a device: ``mpi`` and ``gloo`` those of the cpu, ``hccl`` those of NPUs.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar

from .errors import NoProcessGroupError
from .names import ERRORS, HOMES, LEFT_OUT, SUBMODULES

if TYPE_CHECKING:
    from dispatch_aten.collectives import CollectiveError as DistBackendError
    from dispatch_aten.collectives import CollectiveError as DistError
    from dispatch_aten.collectives import CollectiveError as DistNetworkError
    from dispatch_aten.collectives import FileStore, HashStore, PrefixStore, Store, TCPStore
    from dispatch_aten.collectives import StoreTimeoutError as DistStoreError

    from ..nn.parallel.buckets import GradBucket
    from .backends import (
        AllgatherOptions,
        AllreduceCoalescedOptions,
        AllreduceOptions,
        AllToAllOptions,
        Backend,
        BackendConfig,
        BarrierOptions,
        BroadcastOptions,
        DebugLevel,
        GatherOptions,
        ReduceOptions,
        ReduceScatterOptions,
        ScatterOptions,
        get_backend_config,
        get_debug_level,
        get_default_backend_for_device,
        is_backend_available,
        set_debug_level,
        set_debug_level_from_env,
        supports_complex,
    )
    from .collectives import (
        P2POp,
        all_gather,
        all_gather_into_tensor,
        all_reduce,
        barrier,
        batch_isend_irecv,
        broadcast,
        irecv,
        isend,
        recv,
        reduce,
        reduce_scatter,
        reduce_scatter_tensor,
        send,
    )
    from .device_mesh import DeviceMesh, init_device_mesh
    from .exchanges import all_to_all, all_to_all_single, gather, scatter
    from .group_class import ProcessGroup
    from .lists import all_gather_coalesced, all_reduce_coalesced
    from .objects import (
        all_gather_object,
        broadcast_object_list,
        gather_object,
        monitored_barrier,
        recv_object_list,
        scatter_object_list,
        send_object_list,
    )
    from .process_groups import (
        destroy_process_group,
        get_backend,
        get_process_group_ranks,
        get_rank,
        get_world_size,
        init_process_group,
        new_group,
    )
    from .subgroups import (
        get_global_rank,
        get_group_rank,
        get_node_local_rank,
        get_pg_count,
        new_subgroups,
        new_subgroups_by_enumeration,
    )
    from .work import Work

__all__ = [
    "AllToAllOptions",
    "AllgatherOptions",
    "AllreduceCoalescedOptions",
    "AllreduceOptions",
    "Backend",
    "BackendConfig",
    "BarrierOptions",
    "BroadcastOptions",
    "DebugLevel",
    "DeviceMesh",
    "DistBackendError",
    "DistError",
    "DistNetworkError",
    "DistStoreError",
    "FileStore",
    "GatherOptions",
    "GradBucket",
    "GroupMember",
    "HashStore",
    "NoProcessGroupError",
    "P2POp",
    "PrefixStore",
    "ProcessGroup",
    "ReduceOp",
    "ReduceOptions",
    "ReduceScatterOptions",
    "ScatterOptions",
    "Store",
    "TCPStore",
    "Work",
    "all_gather",
    "all_gather_coalesced",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_reduce",
    "all_reduce_coalesced",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "batch_isend_irecv",
    "broadcast",
    "broadcast_object_list",
    "destroy_process_group",
    "gather",
    "gather_object",
    "get_backend",
    "get_backend_config",
    "get_debug_level",
    "get_default_backend_for_device",
    "get_global_rank",
    "get_group_rank",
    "get_node_local_rank",
    "get_pg_count",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "group",
    "init_device_mesh",
    "init_process_group",
    "irecv",
    "is_available",
    "is_backend_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_torchelastic_launched",
    "isend",
    "monitored_barrier",
    "new_group",
    "new_subgroups",
    "new_subgroups_by_enumeration",
    "recv",
    "recv_object_list",
    "reduce",
    "reduce_op",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "scatter",
    "scatter_object_list",
    "send",
    "send_object_list",
    "set_debug_level",
    "set_debug_level_from_env",
    "supports_complex",
]


def is_available() -> bool:
    """Return True: a group of one process needs nothing, and `init_process_group` says what a larger one needs."""
    return True


def is_initialized() -> bool:
    """Return whether there is a group of all processes."""
    module = sys.modules.get(f"{__name__}.process_groups")
    return module is not None and bool(module.is_group())


def is_torchelastic_launched() -> bool:
    """Return whether `torchlike.distributed.run` has started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def is_mpi_available() -> bool:
    """Return whether mpi4py is installed."""
    return find_spec("mpi4py") is not None


def is_gloo_available() -> bool:
    """Return whether JAX is installed, inside of which gloo is, or mpi4py, which stands in for it under ``mpirun``."""
    return find_spec("jax") is not None or is_mpi_available()


def _is_absent() -> bool:
    """Return False: processes do not communicate by this library here."""
    return False


is_nccl_available = is_ucc_available = is_xccl_available = _is_absent


class _World(type):
    """The type of `group`, whose ``WORLD`` is the group of all processes, or None."""

    @property
    def WORLD(cls) -> Any:  # noqa: N802  # torch's name
        """The group of all processes; None where there is none."""
        if not is_initialized():
            return None
        from .process_groups import default_group

        return default_group("group.WORLD")


class group(metaclass=_World):  # noqa: N801  # torch's name
    """The group of all processes (source: ``torch.distributed.group``)."""


class GroupMember(metaclass=_World):
    """The same group under its older name (source: ``torch.distributed.GroupMember``)."""

    NON_GROUP_MEMBER: Any = -100


class ReduceOp:
    """The ways to combine the numbers of processes (source: ``torch.distributed.ReduceOp``)."""

    SUM, AVG, PRODUCT, MIN, MAX = "sum", "avg", "product", "min", "max"
    BAND, BOR, BXOR = "band", "bor", "bxor"
    PREMUL_SUM = "premul_sum"
    RedOpType: ClassVar[type]


reduce_op = ReduceOp.RedOpType = ReduceOp


def _find(name: str) -> Any:
    if name in ERRORS:
        found = globals()[name] = getattr(import_module("dispatch_aten.collectives"), ERRORS[name])
        return found
    if name in SUBMODULES:
        return import_module(f".{name}", __name__)
    if name in LEFT_OUT:
        raise AttributeError(f"torch.distributed.{name} is left out here\nHint: {LEFT_OUT[name]}", name=name)
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    found = globals()[name] = getattr(import_module(HOMES[name], __name__), name)
    return found


if not TYPE_CHECKING:  # it would make every misspelt name one of any type
    __getattr__ = _find


def __dir__() -> list[str]:
    return sorted({*globals(), *HOMES, *ERRORS, *SUBMODULES})
