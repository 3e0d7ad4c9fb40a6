"""Pinned memory of the host: its statistics by torch_npu's names."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from dispatch_backend_npu import runtime

__all__ = [
    "host_empty_cache",
    "host_memory_stats",
    "host_memory_stats_as_nested_dict",
    "reset_accumulated_host_memory_stats",
    "reset_peak_host_memory_stats",
]


def host_empty_cache() -> None:
    """Give pinned memory back that no tensor holds (source: ``torch_npu.npu``).

    >>> host_empty_cache()
    """
    runtime.empty_pinned_cache()


def host_memory_stats() -> dict[str, int]:
    """Return the numbers of blocks and bytes of pinned memory, held by tensors or in all (source: ``torch_npu.npu``).

    Times of the runtime's calls are not measured. Sizes are those that the runtime was asked for.
    """
    return OrderedDict(sorted(runtime.pinned_memory_stats().items()))


def host_memory_stats_as_nested_dict() -> dict[str, Any]:
    """Return the same as dicts in dicts, by the parts of their names (source: ``torch_npu.npu``)."""
    found: dict[str, Any] = {}
    for name, value in host_memory_stats().items():
        *parts, last = name.split(".")
        place = found
        for part in parts:
            place = place.setdefault(part, {})
        place[last] = value
    return found


def reset_accumulated_host_memory_stats() -> None:
    """Reset the sums of pinned memory that was taken and given back (source: ``torch_npu.npu``).

    >>> reset_accumulated_host_memory_stats()
    """
    runtime.reset_pinned_memory_stats("allocated", "freed")


def reset_peak_host_memory_stats() -> None:
    """Reset the peaks of pinned memory to the present amounts (source: ``torch_npu.npu``).

    >>> reset_peak_host_memory_stats()
    """
    runtime.reset_pinned_memory_stats("peak")
