"""What operators gather: counted by the operator's name, named once, and refused above a limit in bytes.

Note [Limits]
    An operator that needs a tensor whole, of which each process has a part, has it gathered in each. The first that does so
    without a rule for its dimensions warns. A mesh has a limit for the bytes of one such tensor: `set_gather_limit`,
    and else a quarter of the device's memory where it tells it, or of the host's, divided by the processes on it.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from contextlib import suppress
from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.placements import DeviceMesh, PlacementError
from dispatch_core.runtime import find_interface
from dispatch_core.tracebacks import warn_caller

__all__ = ["gathers", "note_gather", "set_gather_limit"]

_counts: Final[Counter[str]] = Counter()
_named: Final[set[str]] = set()
_limits: Final[dict[DeviceMesh, int]] = {}


def gathers() -> dict[str, int]:
    """Return how often each operator has gathered a tensor of which each process has a part."""
    return dict(_counts.most_common())


def set_gather_limit(mesh: DeviceMesh, limit: int) -> None:
    """Refuse operators on a mesh that gather a tensor of more bytes than this; see Note [Limits]."""
    _limits[mesh.root] = int(limit)


def note_gather(name: str, mesh: DeviceMesh, local: Any, elements: int, *, has_rule: bool) -> None:
    """Count a tensor that an operator gathers. Raises ``PlacementError`` for more bytes than the mesh's limit."""
    _counts[name] += 1
    size = elements * dc.dtype(local).itemsize
    limit = _limits.get(mesh.root)
    if limit is None:
        limit = _limits[mesh.root] = _find_limit(dc.device(local), mesh)
    if size > limit:
        raise PlacementError(
            f"{name}: it needs a tensor of {size} bytes whole in each process, and the limit of {mesh} is {limit}",
            hint="redistribute it so that each process has what it needs, or call set_gather_limit(mesh, bytes)",
        )
    if not has_rule and name not in _named:
        _named.add(name)
        warn_caller(
            f"The operator '{name}' has no rule for tensors of which each process has a part: they are gathered in each."
        )


def _find_limit(device: Any, mesh: DeviceMesh) -> int:
    with suppress(Exception):  # a device that does not tell
        properties = find_interface(device.type).properties
        if properties is not None:
            return int(properties(device.index or 0).total_memory) // 4
    here = int(os.environ.get("LOCAL_WORLD_SIZE") or mesh.root.size())
    return _find_memory() // 4 // max(here, 1)


def _find_memory() -> int:
    """Return the machine's memory in bytes; 8 GiB where the platform does not tell."""
    if sys.platform == "win32":
        return 2**33
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
