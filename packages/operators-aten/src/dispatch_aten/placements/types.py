"""How a tensor lies along one dimension of a mesh (source: ``torch.distributed.tensor.placement_types``)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..collectives.checks import REDUCTIONS
from .errors import PlacementError

__all__ = ["Partial", "Placement", "Replicate", "Shard", "check_placements", "split"]


class Placement:
    """How a tensor lies along one dimension of a mesh: in parts, as a whole, or as numbers that are to be combined."""

    __slots__ = ()

    def is_shard(self, dim: int | None = None) -> bool:
        """Return whether the tensor is cut, along ``dim`` if one is given."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Return whether each device has the whole."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Return whether each device has numbers of its own, by ``reduce_op`` to be combined if one is given."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclass(frozen=True, slots=True)
class Shard(Placement):
    """The tensor is cut along a dimension, and each device has one part.

    >>> Shard(0), str(Shard(1)), Shard(0).is_shard(1)
    (Shard(dim=0), 'S(1)', False)
    """

    dim: int

    def __str__(self) -> str:
        return f"S({self.dim})"


@dataclass(frozen=True, slots=True, repr=False)
class Replicate(Placement):
    """Each device has the whole tensor.

    >>> Replicate(), str(Replicate())
    (Replicate(), 'R')
    """

    def __repr__(self) -> str:
        return "Replicate()"

    def __str__(self) -> str:
        return "R"


@dataclass(frozen=True, slots=True, repr=False)
class Partial(Placement):
    """Each device has a tensor of the whole's shape; combined by ``reduce_op``, "sum" or another reduction, they are it.

    Raises ``PlacementError`` for another reduction.

    >>> Partial(), Partial("avg").reduce_op, str(Partial())
    (Partial(sum), 'avg', 'P(sum)')
    """

    reduce_op: str = "sum"

    def __post_init__(self) -> None:
        if self.reduce_op not in REDUCTIONS:
            raise PlacementError(
                f"Partial({self.reduce_op!r}): there is no such reduction", hint=f"choose from {', '.join(REDUCTIONS)}"
            )

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"

    def __str__(self) -> str:
        return f"P({self.reduce_op})"


def check_placements(name: str, placements: Iterable[Any], mesh: Any, shape: Sequence[int]) -> tuple[Placement, ...]:
    """Return placements for a tensor on a mesh, the dimensions counted from the front.

    Raises ``PlacementError`` where there is not one for each dimension of the mesh, or where one cuts a dimension that the
    tensor has not.
    """
    found = tuple(placements)
    if len(found) != mesh.ndim:
        raise PlacementError(
            f"{name}: `placements` must have the same length as `device_mesh.ndim`! Found placements length: {len(found)},"
            f" and device_mesh.ndim: {mesh.ndim}.",
            hint=f"give one of Shard(dim), Replicate() and Partial() for each dimension of {mesh}",
        )
    return tuple(_check(name, each, len(shape)) for each in found)


def _check(name: str, placement: object, ndim: int) -> Placement:
    if not isinstance(placement, Placement):
        raise PlacementError(
            f"{name}: {placement!r} is no placement", hint="write Shard(dim), Replicate() or Partial()"
        )
    if not isinstance(placement, Shard):
        return placement
    dim = placement.dim + ndim if placement.dim < 0 else placement.dim
    if not 0 <= dim < ndim:
        raise PlacementError(f"{name}: Sharding dim {placement.dim} greater than tensor ndim {ndim}")
    return Shard(dim)


def split(size: int, parts: int, index: int) -> tuple[int, int]:
    """Return where part ``index`` of a dimension begins, and its size: as ``torch.chunk`` cuts, the last parts may be empty.

    >>> [split(10, 4, index) for index in range(4)]
    [(0, 3), (3, 3), (6, 3), (9, 1)]
    """
    full = -(-size // parts)
    start = min(full * index, size)
    return start, min(full, size - start)
