"""Meshes of devices, or of processes with a device each (source: ``torch.distributed.device_mesh``).

On ``jax`` a mesh is made of the devices that this program sees, by their numbers; elsewhere of processes, by their ranks.

>>> from torchlike.distributed.device_mesh import init_device_mesh
>>> init_device_mesh("cpu", (1,), mesh_dim_names=("data",))
DeviceMesh((data=1), 'cpu')
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextvars import ContextVar, Token
from math import prod
from typing import Any, Final, Self
from weakref import WeakKeyDictionary

import numpy as np

from dispatch_aten.placements import DeviceMesh as Mesh
from dispatch_aten.placements import PlacementError
from dispatch_core.runtime import find_interface

from ..creation.factories import tensor
from ..tensors.tensor import Tensor
from ..values.devices import device
from .errors import NoProcessGroupError
from .process_groups import (
    default_group,
    find_ranks,
    get_rank,
    get_world_size,
    init_process_group,
    is_group,
    new_group,
)

__all__ = ["DeviceMesh", "init_device_mesh"]

#: The meshes of the ``with`` blocks around, the innermost last.
_entered: Final[ContextVar[tuple[DeviceMesh, ...]]] = ContextVar("_entered", default=())


class DeviceMesh(Mesh):
    """Devices in a grid: ``mesh`` has their numbers (source: ``torch.distributed.device_mesh.DeviceMesh``).

    ``with mesh:`` makes it the one that functions use which are given none. Raises ``PlacementError`` (a ``ValueError``) for
    a mesh that cannot be, and for ranks beyond the number of processes.

    >>> DeviceMesh("cpu", [0]).mesh
    tensor([0], dtype=torchlike.int32)
    """

    _tokens: list[Token[Any]]

    def __init__(
        self,
        device_type: str,
        mesh: Any,
        *,
        mesh_dim_names: Sequence[str] | None = None,
        _init_backend: bool = True,
        _rank: int | None = None,
    ) -> None:
        ranks = mesh.tolist() if isinstance(mesh, Tensor) else mesh
        name = _check_type(device_type)
        engine = find_interface(name).placements
        if engine is None:
            _rank = _join(np.array(ranks))
        super().__init__(name, ranks, mesh_dim_names=mesh_dim_names, rank=_rank)
        if engine is not None:
            engine.check(self)

    @property
    def mesh(self) -> Tensor:
        """The numbers of the devices; of a part of a mesh those along it."""
        return tensor(self.ranks.tolist()).int()

    def get_group(self, mesh_dim: int | str | None = None) -> Any:
        """Return the group of the processes along a dimension, which a mesh of one dimension needs no name for."""
        if mesh_dim is None and self.ndim > 1:
            raise PlacementError(
                f"Found the DeviceMesh have {self.ndim} dimensions",
                hint="mesh_dim names the one that is meant: get_group(mesh_dim)",
            )
        if has_devices(self.device_type):
            raise PlacementError(f"{self} has devices of this process, and no groups of processes")
        if not is_group() and self.root_ranks.size == 1:
            init_process_group(rank=0, world_size=1)
        found = _groups_of(self.root)[self.dims[self.dim_of(0 if mesh_dim is None else mesh_dim)]]
        if found is None:
            raise PlacementError(f"this process, rank {self.get_rank()}, is not of {self}")
        return found

    def get_all_groups(self) -> list[Any]:
        """Return the groups of the processes along each dimension."""
        return [self.get_group(dim) for dim in range(self.ndim)]

    def _flatten(self, mesh_dim_name: str | None = None) -> Self:
        """Return the mesh of the same devices in one dimension, by default with the names here, joined by ``_``.

        It is a mesh of its own: tensors of the two do not meet in one call, and on cpu and npu all processes call this.
        """
        name = mesh_dim_name or "_".join(self.mesh_dim_names or [f"dim{dim}" for dim in range(self.ndim)])
        return type(self)(self.device_type, self.ranks.reshape(-1), mesh_dim_names=(name,))

    @classmethod
    def from_group(
        cls, group: Any, device_type: str, mesh: Any = None, *, mesh_dim_names: Sequence[str] | None = None
    ) -> Self:
        """Return the mesh of the processes of a group, in one dimension."""
        return cls(device_type, list(find_ranks(group)) if mesh is None else mesh, mesh_dim_names=mesh_dim_names)

    def __enter__(self) -> Self:
        _entered.set((*_entered.get(), self))
        return self

    def __exit__(self, *exc_info: object) -> None:
        _entered.set(_entered.get()[:-1])


def init_device_mesh(
    device_type: str,
    mesh_shape: Sequence[int],
    *,
    mesh_dim_names: Sequence[str] | None = None,
    backend_override: Any = None,
) -> DeviceMesh:
    """Return a mesh of the first devices, in row-major order (source: ``torch.distributed.device_mesh.init_device_mesh``).

    ``mesh_shape`` are the sizes of its dimensions, ``mesh_dim_names`` their names. Raises ``PlacementError`` for names that
    do not fit, and where there are not so many devices, or processes.
    """
    shape = tuple(map(int, mesh_shape))
    if mesh_dim_names is not None and len(mesh_dim_names) != len(shape):
        raise PlacementError(
            "mesh_shape and mesh_dim_names should have same length! Found len(mesh_dim_names):"
            f" {len(mesh_dim_names)} and len(mesh_shape):{len(shape)}."
        )
    return DeviceMesh(device_type, np.arange(prod(shape)).reshape(shape), mesh_dim_names=mesh_dim_names)


def current_mesh(name: str, given: Any = None) -> DeviceMesh:
    """Return the mesh that a function is given, or that of the ``with`` block; raises ``PlacementError`` for none."""
    found = next(reversed(_entered.get()), None) if given is None else given
    if not isinstance(found, Mesh):
        raise PlacementError(
            f"{name}: there is no mesh", hint="give device_mesh, or call it in a block of `with mesh:`"
        )
    return as_device_mesh(found)


def as_device_mesh(mesh: Mesh) -> DeviceMesh:
    """Return a mesh with torch's methods."""
    if isinstance(mesh, DeviceMesh):
        return mesh
    made = object.__new__(DeviceMesh)
    made.__dict__.update(mesh.__dict__)
    return made


def has_devices(device_type: str) -> bool:
    """Return whether meshes on a device are made of a process's own devices, and not of processes."""
    return find_interface(device_type).placements is not None


def _check_type(device_type: str) -> str:
    found = device(device_type)
    if found.index is not None:
        raise PlacementError(f"a mesh is made of devices of a type, as {found.type!r}; got {device_type!r}")
    return str(found.type)


def _join(ranks: Any) -> int:
    """Return this process's rank; a process that has no group yet gets it as torch's do."""
    if not is_group():
        if ranks.size == 1 and "RANK" not in os.environ:
            return 0  # it needs no group until a program asks for it
        init_process_group()
    if (size := get_world_size()) < ranks.size or ranks.max() >= size:
        raise PlacementError(
            f"Mesh should not be bigger than default world size {size}, but found {ranks.size} ranks!",
            hint="start more processes: python -m torchlike.distributed.run --nproc-per-node N, or mpirun -n N",
        )
    return get_rank()


def _groups_of(root: Mesh) -> list[Any]:
    """Return the group of this process along each dimension of a mesh; another ``init_process_group`` has others."""
    if not is_group():
        raise NoProcessGroupError(
            "get_group",
            f"the processes of {root} have no group: none was made, or destroy_process_group has given it back",
            "init_process_group() makes one, in all of them",
        )
    known = _made.setdefault(default_group("get_group"), {})
    if root not in known:
        known[root] = _make_groups(root)
    return known[root]


#: The group of all processes → mesh → the groups along its dimensions; they go with the former.
_made: Final[WeakKeyDictionary[Any, dict[Mesh, list[Any]]]] = WeakKeyDictionary()


def _make_groups(root: Mesh) -> list[Any]:
    """Make the groups along each dimension of a mesh; all processes make all, in one order."""
    found = []
    for dim in range(root.ndim):
        mine = None
        for ranks in np.moveaxis(root.root_ranks, dim, -1).reshape(-1, root.shape[dim]).tolist():
            made = new_group(ranks)
            if root.get_rank() in ranks:
                mine = made
        found.append(mine)
    return found
