"""Ascend's own names of ``torch_npu.npu``: the module that serves each, or the reason why it is refused, with a hint."""

from __future__ import annotations

from typing import Final

__all__ = ["OWN", "REFUSED"]

_KINDS: Final = "BFloat16 Bool Byte Char Double Float Half Int Long Short".split()
_MODULES: Final = {
    "allocators": "NPUPluggableAllocator change_current_allocator",
    "autocast_choices": "get_autocast_dtype is_autocast_enabled set_autocast_dtype set_autocast_enabled",
    "device_memory": (
        "caching_allocator_alloc caching_allocator_delete empty_virt_addr_cache get_allocator_backend"
        " get_per_process_memory_fraction max_memory_cached memory_cached memory_snapshot reset_max_memory_allocated"
        " reset_max_memory_cached set_per_process_memory_fraction"
    ),
    "debugging": "finalize_dump init_dump set_dump set_op_timeout_ms",
    "deterministic": ("disable_deterministic_with_backward enable_deterministic_with_backward set_deterministic_level"),
    "graph_parts": (
        "graph_task_group_begin graph_task_group_end graph_task_update_begin graph_task_update_end"
        " super_kernel_scope_begin super_kernel_scope_end"
    ),
    "graphs": "NPUGraph graph graph_pool_handle make_graphed_callables",
    "host_memory": (
        "host_empty_cache host_memory_stats host_memory_stats_as_nested_dict reset_accumulated_host_memory_stats"
        " reset_peak_host_memory_stats"
    ),
    "marks": "mstx",
    "options": (
        "CubeMathType are_compatible_impl_enabled config conv get_mm_bmm_format_nd is_jit_compile_false matmul"
        " set_compile_mode set_mm_bmm_format_nd set_option use_compatible_impl"
    ),
    "questions": (
        "clear_npu_overflow_flag current_blas_handle get_device_capability get_sync_debug_mode"
        " ipc_collect set_sync_debug_mode"
    ),
    "streams": "ExternalStream SyncLaunchStream",
    "types": " ".join(f"{kind}{ending}" for kind in _KINDS for ending in ("Storage", "Tensor")),
}
#: Name → the module of this package that has it.
OWN: Final = {name: module for module, names in _MODULES.items() for name in names.split()}

_GRAPH: Final = (
    "calls of a recorded graph are not changed one by one",
    "record the graph again with the new arguments",
)
_LIMIT: Final = ("the number of cores is not limited: its functions are newer than CANN 8.1", "leave it out")
_RECOVERY: Final = ("a device is not recovered in a running process", "start another process, from the last checkpoint")
_FOREIGN: Final = (
    "streams and events of other libraries are not taken over",
    "use torch.npu.Stream and torch.npu.Event",
)
_POOL: Final = ("memory has one pool for each device and stream", "torch.npu.empty_cache() returns what is unused")
_HIDING: Final = ("models are not obfuscated", "leave it out")

#: Name → the reason, and a hint.
REFUSED: Final[dict[str, tuple[str, str]]] = {
    "ExternalEvent": _FOREIGN,
    "MemPool": _POOL,
    "NpuGraphOpHandler": _GRAPH,
    "check_uce_in_memory": _RECOVERY,
    "get_device_limit": _LIMIT,
    "get_stream_limit": _LIMIT,
    "get_npu_overflow_flag": (
        "the device's numbers overflow to infinity, so that it has no flag of overflow (torch_npu raises, too)",
        "look for inf and nan: torch.isfinite(gradient).all()",
    ),
    "npurt": ("functions of the runtime are not given out", "torch.npu has what programs use of them"),
    "obfuscation_calculate": _HIDING,
    "obfuscation_finalize": _HIDING,
    "obfuscation_initialize": _HIDING,
    "register_npu_graph_handler": _GRAPH,
    "reset_stream_limit": _LIMIT,
    "restart_device": _RECOVERY,
    "set_aoe": ("operators come compiled with the toolkit, and are not tuned", "leave it out"),
    "set_device_limit": _LIMIT,
    "set_stream_limit": _LIMIT,
    "stop_device": _RECOVERY,
    "stress_detect": ("the device is not tested by it", "python -m dispatch_core doctor npu opens the device"),
    "use_mem_pool": _POOL,
    "utilization": ("the device's load is not asked for", "npu-smi shows it"),
}
