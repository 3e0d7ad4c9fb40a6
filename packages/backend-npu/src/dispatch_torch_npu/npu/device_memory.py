"""Memory of the device by torch_npu's names: older ones, raw allocations, a limit for the process, the segments."""

from __future__ import annotations

from typing import Any, Final

from dispatch_backend_npu import runtime

from . import _DEVICE

__all__ = [
    "caching_allocator_alloc",
    "caching_allocator_delete",
    "empty_virt_addr_cache",
    "get_allocator_backend",
    "get_per_process_memory_fraction",
    "max_memory_cached",
    "memory_cached",
    "memory_snapshot",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "set_per_process_memory_fraction",
]

#: Address → the block that a program allocated by hand.
_blocks: Final[dict[int, runtime.MemoryBlock]] = {}


def caching_allocator_alloc(size: int, device: Any = None, stream: Any = None) -> int:
    """Return the address of memory of the device, which stays until it is deleted (source: ``torch_npu.npu``).

    Args:
        size: The number of bytes.
        device: The device; the thread's by default.
        stream: The stream whose work uses it; the device's current one by default. Handles as numbers are refused.
    """
    index = _DEVICE.current_device() if device is None else _read(device)
    if stream is not None and not isinstance(stream, _DEVICE.Stream):
        raise TypeError(f"stream is a torch.npu.Stream, not {type(stream).__name__}")
    with _DEVICE.device(index), _DEVICE.stream(stream):
        block = runtime.allocate(size)
    _blocks[block.pointer] = block
    return int(block.pointer)


def caching_allocator_delete(mem_ptr: int) -> None:
    """Give memory back that `caching_allocator_alloc` has given (source: ``torch_npu.npu``).

    Raises ``ValueError`` for any other address.
    """
    if _blocks.pop(mem_ptr, None) is None:
        raise ValueError(f"there is no memory of caching_allocator_alloc() at {mem_ptr:#x}")


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Limit the memory that the process takes of a device to a share of it (source: ``torch_npu.npu``).

    An allocation beyond it raises ``OutOfMemoryError``. Raises ``TypeError`` and ``ValueError`` for anything but a float
    from 0 to 1.
    """
    if not isinstance(fraction, float):
        raise TypeError(f"Invalid type for fraction argument, must be `float`, not {type(fraction).__name__}")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    with _DEVICE.device(_current(device)):
        runtime.set_memory_fraction(fraction)


def get_per_process_memory_fraction(device: Any = None) -> float:
    """Return the share of a device's memory that the process may take, 1 by default (source: ``torch_npu.npu``)."""
    with _DEVICE.device(_current(device)):
        return runtime.memory_fraction()


def memory_snapshot(mempool_id: Any = None) -> list[dict[str, Any]]:
    """Return the segments of every opened device, and the parts of each (source: ``torch_npu.npu``).

    Neighbours that are in use are one block: which tensors they hold is not kept.
    """
    return runtime.memory_snapshot()


def empty_virt_addr_cache() -> None:
    """Return nothing: no memory is kept by virtual addresses that could be given back (source: ``torch_npu.npu``).

    >>> empty_virt_addr_cache()
    """


def get_allocator_backend() -> str:
    """Return that the backend's own allocator serves: ``"native"`` (source: ``torch_npu.npu``).

    >>> get_allocator_backend()
    'native'
    """
    return "native"


def memory_cached(device: Any = None) -> int:
    """Return ``memory_reserved``, by its older name (source: ``torch_npu.npu``)."""
    return int(_DEVICE.memory_reserved(device))


def max_memory_cached(device: Any = None) -> int:
    """Return ``max_memory_reserved``, by its older name (source: ``torch_npu.npu``)."""
    return int(_DEVICE.max_memory_reserved(device))


def reset_max_memory_allocated(device: Any = None) -> None:
    """Reset the peaks of memory, by an older name of ``reset_peak_memory_stats`` (source: ``torch_npu.npu``)."""
    _DEVICE.reset_peak_memory_stats(device)


def reset_max_memory_cached(device: Any = None) -> None:
    """Reset the peaks of memory, by an older name of ``reset_peak_memory_stats`` (source: ``torch_npu.npu``)."""
    _DEVICE.reset_peak_memory_stats(device)


def _current(device: Any) -> int:
    return int(_DEVICE.current_device()) if device is None else _read(device)


def _read(device: Any) -> int:
    """Return the index of a device as users write it."""
    with _DEVICE.device(device):
        return int(_DEVICE.current_device())
