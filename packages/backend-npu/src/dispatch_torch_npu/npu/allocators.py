"""Memory of the device from another library: ``NPUPluggableAllocator``."""

from __future__ import annotations

from dispatch_backend_npu import runtime

__all__ = ["NPUPluggableAllocator", "change_current_allocator"]


class NPUPluggableAllocator:
    """Two functions of a shared library that give memory of the device and take it back (source: ``torch_npu.npu``).

    Args:
        path_to_so_file: The library.
        alloc_fn_name: Its ``void *alloc(ssize_t size, int device, aclrtStream stream)``.
        free_fn_name: Its ``void free(void *memory, size_t size, aclrtStream stream)``.
    """

    def __init__(self, path_to_so_file: str, alloc_fn_name: str, free_fn_name: str) -> None:
        self._functions = runtime.ForeignMemory(path_to_so_file, alloc_fn_name, free_fn_name)

    def allocator(self) -> runtime.ForeignMemory:
        """Return the functions."""
        return self._functions


def change_current_allocator(allocator: NPUPluggableAllocator) -> None:
    """Take all memory of devices from an allocator, which then caches by itself (source: ``torch_npu.npu``).

    Raises ``RuntimeError`` where a device has given memory already.
    """
    runtime.use_foreign_memory(allocator.allocator())
