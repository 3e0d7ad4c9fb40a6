"""The figures of a device's memory, by torch's names."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final

from .module_parts import ModulePart, Place

#: Row of the summary → the statistics that it shows, and whether they are bytes.
_ROWS: Final = {
    "Allocated memory": ("allocated_bytes.all", True),
    "Active memory": ("active_bytes.all", True),
    "Requested memory": ("requested_bytes.all", True),
    "Reserved memory": ("reserved_bytes.all", True),
    "Non-releasable memory": ("inactive_split_bytes.all", True),
    "Allocations": ("allocation.all", False),
    "Active allocs": ("active.all", False),
    "Reserved segments": ("segment.all", False),
}
_COLUMNS: Final = {"Cur Usage": "current", "Peak Usage": "peak", "Tot Alloc": "allocated", "Tot Freed": "freed"}
_WIDTH: Final = 75


class MemoryFunctions(ModulePart):
    """The functions of a device's memory. A device that was not opened holds nothing, and is not opened to say so."""

    def empty_cache(self) -> None:
        """Return device memory that no tensor holds to the device."""
        empty = self.interface.empty_cache if self.is_opened() else None
        if empty is not None:
            empty()

    def memory_stats(self, device: Place = None) -> dict[str, int]:
        """Return statistics of a device's memory under torch's names; none where it has not been opened."""
        if not self.is_opened():
            return {}
        return OrderedDict(sorted(self.require("memory").memory.stats(self.to_index(device)).items()))

    def memory_stats_as_nested_dict(self, device: Place = None) -> dict[str, Any]:
        """Return the same statistics as dicts in dicts, by the parts of their names."""
        found: dict[str, Any] = {}
        for name, value in self.memory_stats(device).items():
            *parts, last = name.split(".")
            place = found
            for part in parts:
                place = place.setdefault(part, {})
            place[last] = value
        return found

    def memory_allocated(self, device: Place = None) -> int:
        """Return the number of bytes that tensors hold on a device."""
        return self.memory_stats(device).get("allocated_bytes.all.current", 0)

    def max_memory_allocated(self, device: Place = None) -> int:
        """Return the largest number of bytes that tensors have held since the start or ``reset_peak_memory_stats``."""
        return self.memory_stats(device).get("allocated_bytes.all.peak", 0)

    def memory_reserved(self, device: Place = None) -> int:
        """Return the number of bytes of the device that this process has reserved, held by tensors or cached."""
        return self.memory_stats(device).get("reserved_bytes.all.current", 0)

    def max_memory_reserved(self, device: Place = None) -> int:
        """Return the largest number of bytes of the device that this process has reserved."""
        return self.memory_stats(device).get("reserved_bytes.all.peak", 0)

    def reset_peak_memory_stats(self, device: Place = None) -> None:
        """Reset the peaks to the present amounts."""
        if self.is_opened():
            self._call_memory("reset_peaks", device)

    def reset_accumulated_memory_stats(self, device: Place = None) -> None:
        """Reset the sums of what was allocated and freed, where the backend counts them."""
        if self.is_opened() and hasattr(self.require("memory").memory, "reset_accumulated"):
            self._call_memory("reset_accumulated", device)

    def mem_get_info(self, device: Place = None) -> tuple[int, int]:
        """Return the numbers of bytes of a device's memory that are free, and in all."""
        free, total = self._call_memory("info", device)
        return int(free), int(total)

    def device_memory_used(self, device: Place = None) -> int:
        """Return the number of bytes of a device's memory that are not free, those of other processes too."""
        free, total = self.mem_get_info(device)
        return total - free

    def _call_memory(self, function: str, device: Place) -> tuple[int, int]:
        found = getattr(self.require("memory").memory, function, None)
        if found is None:
            raise RuntimeError(
                f"Backend {self.name} doesn't support this figure of memory\n"
                f"Hint: the part 'memory' of its DeviceInterface has no function {function!r}"
            )
        answer: tuple[int, int] = found(self.open(self.to_index(device)))
        return answer

    def memory_summary(self, device: Place = None, abbreviated: bool = False) -> str:
        """Return the statistics of a device's memory as a table of those that the backend counts.

        Args:
            device: The device; the thread's current one by default.
            abbreviated: Whether rows of allocations and segments are left out.
        """
        stats, index = self.memory_stats(device), self.to_index(device)
        lines = ["=" * _WIDTH, f"{self.name} memory summary, device {index}".center(_WIDTH), "-" * _WIDTH]
        ooms, retries = stats.get("num_ooms", 0), stats.get("num_alloc_retries", 0)
        lines += [f"{f'OOMs: {ooms}':^37}|{f'allocation retries: {retries}':^37}", "=" * _WIDTH]
        lines += [_format_row("Metric", list(_COLUMNS)), "-" * _WIDTH]
        for title, (prefix, in_bytes) in _ROWS.items():
            if (in_bytes or not abbreviated) and f"{prefix}.current" in stats:
                cells = [stats.get(f"{prefix}.{column}") for column in _COLUMNS.values()]
                lines.append(_format_row(title, [_format(cell, in_bytes) for cell in cells]))
        lines.append("=" * _WIDTH)
        return "\n".join(f"|{line}|" for line in lines) + "\n"


def _format_row(title: str, cells: list[str]) -> str:
    return f" {title:<22}" + "".join(f"|{cell:>10}  " for cell in cells)


def _format(count: int | None, in_bytes: bool) -> str:
    """Format a number, one of bytes in the largest unit that leaves four digits.

    >>> _format(5_000_000, True), _format(1023, True), _format(12, False), _format(None, True)
    ('4882 KiB', '1023 B', '12', '')
    """
    if count is None:
        return ""
    if not in_bytes:
        return str(count)
    units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]
    while count >= 10_240 and len(units) > 1:
        count //= 1024
        del units[0]
    return f"{count} {units[0]}"
