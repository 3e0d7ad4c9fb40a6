"""Tensors are placed on a mesh of processes, and their parts taken out: kernels of the operators of ``dispatch``.

An ordinary tensor becomes a placed one by `place`, which takes the numbers of rank 0, or by `from_local`, of which each
process gives a part; both keep the history.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.placements import DeviceMesh, Placement, PlacementError, Replicate, check_placements

from ...tensors.tensor import Tensor
from .groups import group_of
from .moves import check_target, move
from .tensor import Spec, record_of, wrap_part

__all__ = ["KERNELS", "find", "from_local", "place", "to_local"]

_aten, _own = dc.ops.aten, dc.ops.dispatch


def find(x: Tensor) -> tuple[DeviceMesh, tuple[Placement, ...]] | None:
    """Return the mesh and the placements of a tensor; None for an ordinary one."""
    record = record_of(x)
    return None if record is None else (record.mesh, record.placements)


def place(x: Tensor, mesh: DeviceMesh, placements: Sequence[Placement], *, source: int | None = 0) -> Tensor:
    """Return a tensor that lies so: one that is placed is moved, of an ordinary one each process takes its part.

    The numbers are those of the process that comes first along each dimension of the mesh, as torch sends them from rank 0;
    with ``source=None`` each process's own, which are taken for equal. Raises ``PlacementError`` for placements that do not
    fit, and for tensors that are to be combined.
    """
    found = check_placements("distribute_tensor", placements, mesh, dc.shape(x))
    if record_of(x) is not None:
        moved: Tensor = _own.redistribute(x, mesh, found)
        return moved
    if any(each.is_partial() for each in found):
        raise PlacementError(
            "distribute_tensor: Partial is the place of what operators sum, and of no tensor that is there already",
            hint="from_local(x, mesh, [Partial()]) takes each process's numbers",
        )
    if source is None or mesh.size() == 1:
        x = _aten.clone(x) if all(each.is_replicate() for each in found) or mesh.size() == 1 else x
    else:
        for dim in range(mesh.ndim):
            if mesh.shape[dim] > 1:
                x = _own.broadcast(x, source, group_of(mesh, dim))
    whole: Tensor = _own.from_local(x, mesh, (Replicate(),) * mesh.ndim, list(dc.shape(x)))
    if all(each.is_replicate() for each in found):
        return whole
    made: Tensor = _own.redistribute(whole, mesh, found)
    return made


def to_local(x: Tensor) -> Tensor:
    """Return this process's part of a tensor, with the history."""
    found: Tensor = _own.to_local(x)
    return found


def from_local(
    local: Tensor, mesh: DeviceMesh, placements: Sequence[Placement], shape: Sequence[int] | None = None
) -> Tensor:
    """Return the tensor of which each process gives a part, with the history; without a shape parts are of one size."""
    found = check_placements("from_local", placements, mesh, dc.shape(local))
    if shape is None:
        shape = list(dc.shape(local))
        for placement, count in zip(found, mesh.shape, strict=True):
            if placement.is_shard():
                shape[placement.dim] *= count  # type: ignore[attr-defined]  # a Shard has a dimension
    made: Tensor = _own.from_local(local, mesh, found, list(shape))
    return made


def _from_local(self: Any, mesh: DeviceMesh, placements: Sequence[Placement], size: Sequence[int]) -> Any:
    found = check_placements("from_local", placements, mesh, size)
    return wrap_part(_plain(self), Spec(mesh, found, size))


def _plain(x: Any) -> Any:
    """Return a tensor in the same memory without history."""
    return _aten.detach(x)


def _to_local(self: Any) -> Any:
    return _plain(self._dispatch_data.local)


def _redistribute(self: Any, mesh: DeviceMesh, placements: Sequence[Placement]) -> Any:
    record = record_of(self)
    assert record is not None
    source = record.spec
    if mesh != source.mesh:
        raise PlacementError(
            f"redistribute: the tensor lies on {source.mesh}, not on {mesh}", hint="redistribute works on one mesh"
        )
    found = check_placements("redistribute", placements, mesh, source.size)
    check_target(source, found)
    target = Spec(source.mesh, found, source.size)
    made = move(record.local, source, target, copies=True)
    return wrap_part(_plain(made) if made is record.local else made, target)


#: The kernels of the layout's tensors.
KERNELS: Final[dict[str, Callable[..., Any]]] = {"to_local": _to_local, "redistribute": _redistribute}


def _register() -> dc.Library:
    """Let ordinary tensors be parts of others, on devices that have no arrays over several of their own."""
    library = dc.Library("dispatch", "IMPL")
    library.impl("from_local", _from_local, "CompositeExplicitAutograd", allow_override=True)
    return library


LIBRARY: Final = dc.frontends.run_outside(_register)
