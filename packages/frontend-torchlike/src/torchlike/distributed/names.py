"""Where the names of ``torch.distributed`` are, and those that are left out."""

from __future__ import annotations

from typing import Final

__all__ = ["ERRORS", "HOMES", "LEFT_OUT", "SUBMODULES"]

#: Module → the names in it; each is imported at its first use, because most programs are one process.
_MODULES: Final = {
    ".process_groups": (
        "default_pg_timeout destroy_process_group get_backend get_process_group_ranks get_rank get_world_size"
        " init_process_group new_group"
    ),
    ".collectives": (
        "P2POp all_gather all_gather_into_tensor all_reduce barrier batch_isend_irecv broadcast irecv isend recv reduce"
        " reduce_scatter reduce_scatter_tensor send"
    ),
    ".exchanges": "all_to_all all_to_all_single gather scatter",
    ".objects": (
        "all_gather_object broadcast_object_list gather_object monitored_barrier recv_object_list scatter_object_list"
        " send_object_list"
    ),
    ".lists": "all_gather_coalesced all_reduce_coalesced",
    ".subgroups": (
        "get_global_rank get_group_rank get_node_local_rank get_pg_count new_subgroups new_subgroups_by_enumeration"
    ),
    ".backends": (
        "AllToAllOptions AllgatherOptions AllreduceCoalescedOptions AllreduceOptions Backend BackendConfig BarrierOptions"
        " BroadcastOptions DebugLevel GatherOptions ReduceOptions ReduceScatterOptions ScatterOptions get_backend_config"
        " get_debug_level get_default_backend_for_device is_backend_available set_debug_level set_debug_level_from_env"
        " supports_complex"
    ),
    ".device_mesh": "DeviceMesh init_device_mesh",
    ".group_class": "ProcessGroup",
    ".work": "Work",
    "..nn.parallel.buckets": "GradBucket",
    "dispatch_aten.collectives": "FileStore HashStore PrefixStore Store TCPStore",
}
HOMES: Final = {name: module for module, names in _MODULES.items() for name in names.split()}
#: torch's names → those of its errors that are ours.
ERRORS: Final = {
    "DistBackendError": "CollectiveError",
    "DistError": "CollectiveError",
    "DistNetworkError": "CollectiveError",
    "DistStoreError": "StoreTimeoutError",
}
#: Modules that programs name as attributes, and names that are left out, with the reason.
SUBMODULES: Final = frozenset({"algorithms", "checkpoint", "device_mesh", "distributed_c10d", "fsdp", "nn", "tensor"})
LEFT_OUT: Final = {
    "ProcessGroupGloo": "init_process_group and new_group make groups",
    "ProcessGroupMPI": "init_process_group and new_group make groups",
    "ProcessGroupNCCL": "init_process_group and new_group make groups",
    "BuiltinCommHookType": "register_comm_hook takes the hooks of torch.distributed.algorithms.ddp_comm_hooks",
    "all_gather_single": "all_gather_into_tensor does the same",
    "reduce_scatter_single": "reduce_scatter_tensor does the same",
    "Logger": "DistributedDataParallel logs nothing",
    "Reducer": "DistributedDataParallel has its own buckets",
    "breakpoint": "a debugger of one process does",
    "register_rendezvous_handler": "init_method is env://, tcp:// or file://",
    "rendezvous": "init_process_group finds the other processes",
    "rpc": "functions of other processes are not called",
    "autograd": "functions of other processes are not called",
    "shrink_group": "processes start again without those that are gone",
    "split_group": "new_group makes groups",
}
