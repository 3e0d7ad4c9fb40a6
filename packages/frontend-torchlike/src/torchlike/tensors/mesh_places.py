"""Where a tensor lies on a mesh of a device's own, in files: its numbers are whole, and its place is restored if it fits.

The file of a tensor over several processes has the part of one, as torch's has; see `serialization.layouts.records`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import dispatch_core as dc
from dispatch_core import frontends
from dispatch_core.runtime import find_interface
from dispatch_core.tracebacks import warn_caller

from .tensor import Tensor

__all__ = ["PLACE", "describe_place", "fill_place", "put_in_place"]

_MOST, _DEEPEST = 1 << 31, 32
#: The name of a place among a tensor's attributes.
PLACE: Final = "_place"
_LOST: Final = (
    "load(): tensors of the file lay on a mesh of devices that there are not here ({}); they lie on one device\n"
    "Hint: distribute_tensor places them, and map_location chooses the device"
)


def describe_place(tensor: Tensor) -> dict[str, Any] | None:
    """Return where a tensor lies, as plain data; None for one on one device."""
    if not tensor._dispatch_mask & frontends.PLACING[0]:
        return None
    from dispatch_aten.placements import Shard, placement_of  # few programs have several devices

    frontends.materialize(tensor)
    known = placement_of(tensor)
    if known is None:
        return None
    mesh, placements = known
    names = None if mesh.root_names is None else list(mesh.root_names)
    cut = [each.dim if isinstance(each, Shard) else None for each in placements]
    return {"ranks": mesh.root_ranks.tolist(), "names": names, "cut": cut}


def put_in_place(tensor: Tensor, node: Any) -> None:
    """Lay a tensor on the mesh that a file names, where it fits; raises ``ValueError`` for what names none."""
    found = _lay(tensor.device, tensor.ndim, node, lambda *where: dc.ops.dispatch.redistribute(tensor.detach(), *where))
    if found is not None:
        frontends.bind(tensor, found._dispatch_data)


def fill_place(
    device: dc.Device, shape: tuple[int, ...], node: Any, read: Callable[[Sequence[int], Sequence[int]], Any]
) -> Any:
    """Return the array of what ``read`` gives, part by part, on the mesh that a file names; None where it does not fit.

    Raises ``ValueError`` for what names none.
    """
    return _lay(
        device,
        len(shape),
        node,
        lambda *where: find_interface(device.type).placements.fill(*where, shape, read),
        needs="fill",
    )


def _lay(device: dc.Device, ndim: int, node: Any, lay: Callable[..., Any], needs: str = "place") -> Any:
    """Return what ``lay`` makes of the mesh and the placements of a node; None where they do not fit, which is said."""
    ranks, names, cut = _check(node, ndim)
    if device.index is not None or not hasattr(find_interface(device.type).placements, needs):
        return None  # the program's own choice
    from dispatch_aten.placements import DeviceMesh, PlacementError, Replicate, Shard

    try:
        mesh = DeviceMesh(device.type, ranks, mesh_dim_names=names)
        return lay(mesh, tuple(Replicate() if each is None else Shard(each) for each in cut))
    except PlacementError as error:
        warn_caller(_LOST.format(str(error).splitlines()[0]))
        return None


def _check(node: Any, ndim: int) -> tuple[Any, list[str] | None, list[int | None]]:
    if not isinstance(node, dict) or node.keys() != {"ranks", "names", "cut"}:
        raise ValueError("a tensor's place has other facts than ranks, names and cut")
    names, cut = node["names"], node["cut"]
    if names is not None and (type(names) is not list or not all(type(each) is str for each in names)):
        raise ValueError("a mesh has names that are no texts")
    if type(cut) is not list or not all(each is None or (type(each) is int and 0 <= each < ndim) for each in cut):
        raise ValueError("a tensor is cut along a dimension that it does not have")
    _check_ranks(node["ranks"], len(cut))
    return node["ranks"], names, cut


def _check_ranks(ranks: Any, ndim: int) -> None:
    if type(ranks) is not list or not ranks or not 0 < ndim < _DEEPEST:
        raise ValueError("a mesh has no devices")
    if ndim == 1:
        if not all(type(each) is int and 0 <= each < _MOST for each in ranks):
            raise ValueError("a mesh has devices without numbers")
        return
    for each in ranks:
        _check_ranks(each, ndim - 1)
        if len(each) != len(ranks[0]):  # which all are lists by now
            raise ValueError("a mesh has rows of several lengths")
