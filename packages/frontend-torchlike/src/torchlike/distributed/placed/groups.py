"""The group of processes along each dimension of a mesh."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from dispatch_aten.collectives import ProcessGroup
from dispatch_aten.placements import DeviceMesh, PlacementError

__all__ = ["GROUPS", "group_of", "open_groups"]

_ALONE: Final = ProcessGroup()
#: A mesh that is no part of another, and the number of the process → its groups, one for each dimension.
GROUPS: Final[dict[tuple[DeviceMesh, int], tuple[Any, ...]]] = {}


def group_of(mesh: DeviceMesh, dim: int) -> ProcessGroup:
    """Return the group of the processes along a dimension of a mesh, that of this process.

    Groups are made at the first need, by all processes at once. Raises ``PlacementError`` where there are no processes.
    """
    dim = mesh.dims[dim]
    if mesh.root_ranks.shape[dim] == 1:
        return _ALONE
    found: ProcessGroup = open_groups(mesh)[dim]
    return found


def open_groups(mesh: DeviceMesh) -> tuple[Any, ...]:
    """Return the groups of a mesh, or of the one that it is a part of; all processes call this."""
    root = mesh.root
    key = root, root.get_rank()
    if (known := GROUPS.get(key)) is None:
        known = GROUPS[key] = tuple(_open(root, dim) for dim in range(root.ndim))
    return known


def _open(root: DeviceMesh, dim: int) -> Any:
    from ..process_groups import default_group, is_group, new_group

    if root.shape[dim] == 1:
        return _ALONE
    if not is_group():
        raise PlacementError(
            f"{root} is of {root.size()} processes, and this one has no group",
            hint="init_process_group() makes it; init_device_mesh does, where a launcher has started the processes",
        )
    world = default_group("open_groups")
    lines = np.moveaxis(root.ranks, dim, -1).reshape(-1, root.shape[dim]).tolist()
    if lines == [list(range(world.size))]:
        return world
    found = None
    for line in lines:
        made = new_group(line)
        if world.rank in line:
            found = made
    return found
