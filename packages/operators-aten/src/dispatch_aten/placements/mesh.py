"""Meshes: devices, or processes with one each, in a grid (source: ``torch.distributed.device_mesh``).

Note [Part of a mesh]
    ``mesh["model"]`` are the devices along one of its dimensions, beside this process's own: a mesh of fewer dimensions. It
    knows the mesh that it is a part of, its ``root``, so that tensors on one and on the other can meet: a tensor on the part
    is one on the root, whole along the other dimensions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any, Self

import numpy as np

from .errors import PlacementError

__all__ = ["DeviceMesh"]


class DeviceMesh:
    """Devices of one type in a grid: ``ranks`` are their numbers, ``mesh_dim_names`` the names of the grid's dimensions.

    On a device whose arrays lie on several devices of one process (``jax``) the numbers are those of the devices, else those
    of processes. ``rank`` is the number of this process's own; None where the process has all, or none.

    Raises ``PlacementError`` for numbers that stand twice, and for names that do not fit.

    >>> mesh = DeviceMesh("jax", [[0, 1], [2, 3]], mesh_dim_names=("data", "model"))
    >>> mesh, mesh.shape, mesh.size(), mesh.size("model"), mesh["model"].shape
    (DeviceMesh((data=2, model=2), 'jax'), (2, 2), 4, 2, (2,))
    """

    def __init__(
        self,
        device_type: str,
        mesh: Any,
        *,
        mesh_dim_names: Sequence[str] | None = None,
        rank: int | None = None,
    ) -> None:
        ranks = np.array(mesh, dtype=np.int64)
        names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        if ranks.ndim == 0:
            ranks = ranks.reshape(1)
        if names is not None and len(names) != ranks.ndim:
            raise PlacementError(
                f"mesh_shape and mesh_dim_names should have same length! Found len(mesh_dim_names): {len(names)} and"
                f" len(mesh_shape):{ranks.ndim}."
            )
        if names is not None and len({*names}) != len(names):
            raise PlacementError(
                f"Each mesh_dim_name must be unique. Found repeated mesh_dim_name in mesh_dim_names {names}"
            )
        if len(np.unique(ranks)) != ranks.size or not ranks.size:
            raise PlacementError(f"a mesh has each device once, and one at least; got {ranks.tolist()}")
        ranks.flags.writeable = False
        self.device_type, self.root_ranks, self.root_names, self._rank = device_type, ranks, names, rank
        #: The dimensions of the root that this mesh has; see Note [Part of a mesh].
        self.dims: tuple[int, ...] = tuple(range(ranks.ndim))
        self._key = device_type, ranks.shape, ranks.tobytes(), names

    @property
    def root(self) -> DeviceMesh:
        """The mesh that this one is a part of; itself, if it is no part."""
        return self if len(self.dims) == self.root_ranks.ndim else self._part(range(self.root_ranks.ndim))

    def _part(self, dims: Iterable[int]) -> Self:
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        made.dims = tuple(dims)
        return made

    @property
    def mesh_dim_names(self) -> tuple[str, ...] | None:
        """The names of the dimensions, if they have names."""
        return None if self.root_names is None else tuple(self.root_names[dim] for dim in self.dims)

    @property
    def ranks(self) -> Any:
        """The numbers of the devices as NumPy's integers; of a part of a mesh those along it, beside this process's own."""
        if len(self.dims) == self.root_ranks.ndim:
            return self.root_ranks.transpose(self.dims)
        here = self._find() or (0,) * self.root_ranks.ndim
        index = tuple(slice(None) if dim in self.dims else here[dim] for dim in range(self.root_ranks.ndim))
        left = sorted(self.dims)
        return self.root_ranks[index].transpose([left.index(dim) for dim in self.dims])

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the dimensions."""
        return tuple(self.root_ranks.shape[dim] for dim in self.dims)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.dims)

    def size(self, mesh_dim: int | str | None = None) -> int:
        """Return the number of devices, along one dimension if one is named."""
        return prod(self.shape) if mesh_dim is None else self.shape[self.dim_of(mesh_dim)]

    def dim_of(self, mesh_dim: int | str) -> int:
        """Return the number of a dimension; raises ``KeyError`` for an unknown name, ``IndexError`` for a number."""
        if isinstance(mesh_dim, str):
            names = self.mesh_dim_names or ()
            if mesh_dim not in names:
                raise KeyError(f"Invalid mesh_dim_name {mesh_dim!r} specified. Valid mesh_dim_names are {[*names]}.")
            return names.index(mesh_dim)
        if not -self.ndim <= mesh_dim < self.ndim:
            raise IndexError(f"there is no dimension {mesh_dim} of {self}")
        return mesh_dim % self.ndim

    def __getitem__(self, names: str | tuple[str, ...]) -> Self:
        """Return the part of the mesh along one dimension, or several, by name."""
        if self.mesh_dim_names is None:
            raise PlacementError(
                "Cannot slice a DeviceMesh without mesh_dim_names!", hint="init_device_mesh takes them"
            )
        wanted = (names,) if isinstance(names, str) else tuple(names)
        if unknown := [each for each in wanted if each not in self.mesh_dim_names]:
            raise KeyError(
                f"Invalid mesh_dim_names {tuple(unknown)} specified. Valid mesh_dim_names are {[*self.mesh_dim_names]}."
            )
        return self._part(self.dims[self.mesh_dim_names.index(each)] for each in wanted)

    def get_rank(self) -> int:
        """Return the number of this process."""
        return self._rank or 0

    def get_coordinate(self) -> list[int] | None:
        """Return where this process stands in the mesh; None where it is not of it, or has several of its devices."""
        found = self._find()
        return None if found is None else [found[dim] for dim in self.dims]

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """Return where this process stands along a dimension, which a mesh of one dimension needs no name for."""
        if mesh_dim is None and self.ndim > 1:
            raise PlacementError(
                f"Found the DeviceMesh have {self.ndim} dimensions",
                hint="mesh_dim names the one that is meant: get_local_rank(mesh_dim)",
            )
        found = self.get_coordinate()
        if found is None:
            raise PlacementError(f"this process is no single device of {self}")
        return found[self.dim_of(0 if mesh_dim is None else mesh_dim)]

    def _find(self) -> tuple[int, ...] | None:
        if self._rank is None:
            return None
        found = np.argwhere(self.root_ranks == self._rank)
        return tuple(map(int, found[0])) if len(found) else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceMesh) and (self._key, self.dims) == (other._key, other.dims)

    def __hash__(self) -> int:
        return hash((self._key, self.dims))

    def __repr__(self) -> str:
        names = self.mesh_dim_names
        sizes = [f"{size}" if names is None else f"{names[i]}={size}" for i, size in enumerate(self.shape)]
        return f"DeviceMesh(({', '.join(sizes)}), {self.device_type!r})"
