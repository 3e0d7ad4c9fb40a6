"""The runtime: devices, streams, events, memory. Importing it loads nothing of the toolkit."""

from .allocator import (
    MemoryBlock,
    allocate,
    empty_cache,
    mem_get_info,
    memory_fraction,
    memory_snapshot,
    memory_stats,
    record_stream,
    reset_peak_memory_stats,
    set_memory_fraction,
)
from .debugging import finalize_dump, init_dump, set_dump, set_op_timeout
from .device import current as current_device
from .device import (
    ensure,
    finalize,
    guard,
    init,
    is_initialized,
    set_current,
    synchronize,
)
from .event import Event
from .foreign_memory import ForeignMemory, use_foreign_memory
from .memory import empty_pinned_cache, pinned_memory_stats, reset_pinned_memory_stats
from .probe import (
    device_count,
    device_name,
    has_collectives,
    installation_faults,
    is_available,
    model_directory,
    unavailable_reason,
    versions,
)
from .stream import ForeignStream, Stream, current, default
from .stream import set_current as set_stream
from .waiting import set_sync_timeout, sync_timeout

__all__ = [
    "Event",
    "ForeignMemory",
    "ForeignStream",
    "MemoryBlock",
    "Stream",
    "allocate",
    "current",
    "current_device",
    "default",
    "device_count",
    "device_name",
    "empty_cache",
    "empty_pinned_cache",
    "ensure",
    "finalize",
    "finalize_dump",
    "guard",
    "has_collectives",
    "init",
    "init_dump",
    "installation_faults",
    "is_available",
    "is_initialized",
    "mem_get_info",
    "memory_fraction",
    "memory_snapshot",
    "memory_stats",
    "model_directory",
    "pinned_memory_stats",
    "record_stream",
    "reset_peak_memory_stats",
    "reset_pinned_memory_stats",
    "set_current",
    "set_dump",
    "set_memory_fraction",
    "set_op_timeout",
    "set_stream",
    "set_sync_timeout",
    "sync_timeout",
    "synchronize",
    "unavailable_reason",
    "use_foreign_memory",
    "versions",
]
