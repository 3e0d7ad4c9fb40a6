"""The group of processes along each dimension of a mesh."""

from __future__ import annotations

from typing import Final

from dispatch_aten.collectives import ProcessGroup
from dispatch_aten.placements import DeviceMesh

__all__ = ["group_of"]

_ALONE: Final = ProcessGroup()


def group_of(mesh: DeviceMesh, dim: int) -> ProcessGroup:
    """Return the group of this process along a dimension of a mesh; one process is a group without any other's help."""
    from ..device_mesh import as_device_mesh

    if mesh.shape[dim] == 1:
        return _ALONE
    found: ProcessGroup = as_device_mesh(mesh).get_group(dim)
    return found
