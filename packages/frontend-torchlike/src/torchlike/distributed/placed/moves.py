"""A tensor's parts are moved between processes, so that it lies in another way.

Note [Order of moves]
    Two dimensions of a mesh that cut one dimension of a tensor do so one after the other. What the later one has cut is put
    together first, from the last dimension of the mesh to the first, and then cut again, from the first to the last.
"""

from __future__ import annotations

from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.placements import Partial, Placement, PlacementError, Replicate, Shard, split

from .groups import group_of
from .tensor import Spec

__all__ = ["count_from", "move"]

_aten, _own = dc.ops.aten, dc.ops.dispatch
_WHOLE: Final = Replicate()
#: The number of torch's ``contiguous_format``.
_CONTIGUOUS: Final = 0


def move(local: Any, source: Spec, target: Spec, *, copies: bool = False) -> Any:
    """Return this process's part of a tensor that lies in another way then; the part itself where nothing changes.

    What is cut out of a part may be a view of it, unless ``copies``.
    """
    if source is target:
        return local
    mesh, now = source.mesh, list(source.placements)
    for dim in reversed(range(len(now))):
        wanted = target.placements[dim]
        if not isinstance(now[dim], Shard) or (now[dim] == wanted and not _is_before(now, target, dim)):
            continue
        if mesh.shape[dim] == 1:
            now[dim] = _WHOLE
            continue
        if isinstance(wanted, Shard) and wanted != now[dim] and _is_alone(now, target, dim):
            local = _exchange(local, now, target, dim)
            now[dim] = wanted
            continue
        local = _gather(local, now, source, dim)
        now[dim] = _WHOLE
    for dim, wanted in enumerate(target.placements):
        if now[dim] != wanted:
            if mesh.shape[dim] > 1:
                local = _change(local, now[dim], wanted, source, dim, copies=copies)
            now[dim] = wanted
    return local


def _is_before(now: list[Placement], target: Spec, dim: int) -> bool:
    """Return whether an earlier dimension of the mesh, which changes, cuts what this one does; see Note [Order of moves]."""
    return any(
        now[each] != target.placements[each] and now[dim] in (now[each], target.placements[each]) for each in range(dim)
    )


def _is_alone(now: list[Placement], target: Spec, dim: int) -> bool:
    """Return whether no other dimension of the mesh cuts, now or then, what this one does."""
    others = {
        each
        for index in range(len(now))
        if index != dim
        for each in (now[index], target.placements[index])
        if isinstance(each, Shard)
    }
    return now[dim] not in others and target.placements[dim] not in others


def _size_before(spec: Spec, now: list[Placement], dim: int, tensor_dim: int) -> int:
    """Return the size of a dimension of the tensor before a dimension of the mesh cuts it."""
    size = spec.size[tensor_dim]
    for each in range(dim):
        placement = now[each]
        if isinstance(placement, Shard) and placement.dim == tensor_dim:
            _, size = split(size, spec.mesh.shape[each], spec.coordinate[each])
    return size


def _first(local: Any, dim: int) -> Any:
    """Return a tensor with a dimension in front, row by row in memory."""
    return _aten.contiguous(local if dim == 0 else _aten.movedim(local, dim, 0))


def _back(local: Any, dim: int) -> Any:
    return local if dim == 0 else _aten.contiguous(_aten.movedim(local, 0, dim))


def _pad(local: Any, missing: int) -> Any:
    """Return a tensor with so many rows of zeros behind its own."""
    if not missing:
        return local
    shape = list(dc.shape(local))
    return _aten.cat([local, _aten.new_zeros(local, [missing, *shape[1:]])], 0)


def _gather(local: Any, now: list[Placement], spec: Spec, dim: int) -> Any:
    """Return a tensor with the parts of all processes along a dimension of the mesh."""
    placement = now[dim]
    assert isinstance(placement, Shard)
    count, along = spec.mesh.shape[dim], placement.dim
    size = _size_before(spec, now, dim, along)
    rows = _first(local, along)
    full = -(-size // count)
    found = _own.all_gather(_pad(rows, full - dc.shape(rows)[0]), group_of(spec.mesh, dim))
    if full * count != size:  # the last parts are shorter, and nothing but zeros stands behind them
        found = _aten.slice(found, 0, 0, size)
    return _back(found, along)


def _exchange(local: Any, now: list[Placement], target: Spec, dim: int) -> Any:
    """Return the part along another dimension of the tensor: each process sends each other what that needs."""
    one, other = now[dim], target.placements[dim]
    assert isinstance(one, Shard)
    assert isinstance(other, Shard)
    mesh = target.mesh
    count, here = mesh.shape[dim], target.coordinate[dim]
    shape = list(dc.shape(local))
    own = split(shape[other.dim], count, here)[1]
    parts, sends, receives = [], [], []
    for rank in range(count):
        start, size = split(shape[other.dim], count, rank)
        sent = _aten.contiguous(_aten.slice(local, other.dim, start, start + size))
        if rank == here:
            parts.append(sent)
            continue
        shape_there = shape[:]
        shape_there[one.dim], shape_there[other.dim] = split(target.size[one.dim], count, rank)[1], own
        parts.append(_aten.new_empty(local, shape_there))
        sends.append((sent, rank))
        receives.append((parts[-1], rank))
    sends = [each for each in sends if 0 not in dc.shape(each[0])]
    receives = [each for each in receives if 0 not in dc.shape(each[0])]
    arguments = [[each[index] for each in pairs] for pairs in (sends, receives) for index in (0, 1)]
    _own.exchange(*arguments, group_of(mesh, dim))
    return _aten.cat(parts, one.dim)


def _change(local: Any, now: Placement, wanted: Placement, spec: Spec, dim: int, *, copies: bool) -> Any:
    """Return a part that is no longer whole along a dimension of the mesh, or no longer to be combined."""
    count, here = spec.mesh.shape[dim], spec.coordinate[dim]
    if isinstance(now, Partial):
        if isinstance(wanted, Replicate):
            return _own.all_reduce(local, now.reduce_op, group_of(spec.mesh, dim))
        if isinstance(wanted, Shard):
            rows = _first(local, wanted.dim)
            size = dc.shape(rows)[0]
            full, (_, part) = -(-size // count), split(size, count, here)
            found = _own.reduce_scatter(_pad(rows, full * count - size), now.reduce_op, group_of(spec.mesh, dim))
            return _back(_aten.slice(found, 0, 0, part) if part != full else found, wanted.dim)
        local = _own.all_reduce(local, now.reduce_op, group_of(spec.mesh, dim))
    if isinstance(wanted, Shard):
        start, size = split(dc.shape(local)[wanted.dim], count, here)
        part = _aten.slice(local, wanted.dim, start, start + size)
        return _aten.clone(part, memory_format=_CONTIGUOUS) if copies else _aten.contiguous(part)
    assert isinstance(wanted, Partial)
    if wanted.reduce_op == "product" and here:
        return _aten.ones_like(local)
    return _aten.zeros_like(local) if wanted.reduce_op == "sum" and here else local


def check_target(source: Spec, placements: tuple[Any, ...]) -> None:
    """Raise ``PlacementError`` for a tensor that is to be combined where it is not yet: torch refuses that, too."""
    for now, wanted in zip(source.placements, placements, strict=True):
        if isinstance(wanted, Partial) and now != wanted:
            raise PlacementError(
                f"Can not redistribute from {now} to {wanted}, redistributing to Partial is for internal use only!"
            )


def count_from(places: Any, start: int, count: int, size: int) -> tuple[Any, Any]:
    """Return places along a dimension of a size as this process's part counts them, and which of them it has not.

    For those stands 0. Places beyond the dimension stay as they are, so that a kernel refuses them.
    """
    own = _aten.sub.Scalar(places, start)
    is_own = _aten.logical_and(_aten.ge.Scalar(own, 0), _aten.lt.Scalar(own, count))
    is_there = _aten.logical_and(_aten.ge.Scalar(places, 0), _aten.lt.Scalar(places, size))
    absent = _aten.logical_and(is_there, _aten.logical_not(is_own))
    return _aten.where.self(is_own, own, _aten.masked_fill.Scalar(places, absent, 0)), absent
