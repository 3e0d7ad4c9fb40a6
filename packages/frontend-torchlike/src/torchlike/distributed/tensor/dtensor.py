"""Tensors on a mesh: how one is made of an ordinary one, and its methods besides a tensor's.

Note [DTensor]
    A tensor on a mesh is a `Tensor`; `DTensor` is the name by which programs ask for one, and its functions are methods of
    such tensors. Importing this module adds them to `Tensor`, where an ordinary tensor has no attribute of these names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.placements import (
    Partial,
    Placement,
    PlacementError,
    Replicate,
    Shard,
    check_placements,
    placement_of,
)
from dispatch_aten.placements.operators import without_partial
from dispatch_core.frontends import materialize, to_data
from dispatch_core.runtime import find_interface

from ...history.grad_mode import no_grad
from ...tensors.tensor import Tensor, frontend
from .. import placed  # noqa: F401  # importing it lets tensors be parts of others
from ..device_mesh import DeviceMesh, as_device_mesh, current_mesh, has_devices
from ..placed.tensor import Spec, wrap_part

__all__ = ["DTensor", "distribute_tensor"]

_operators: Final = dc.ops.dispatch


class _Placed(type):
    """The type of `DTensor`, whose instances are the tensors on a mesh."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and placement_of(instance) is not None

    def __subclasscheck__(cls, subclass: type) -> bool:
        return subclass is cls


class DTensor(metaclass=_Placed):
    """A tensor on a mesh; ``isinstance(x, DTensor)`` asks whether ``x`` is one (source: ``torch.distributed.tensor``).

    Such a tensor has the attributes ``device_mesh`` and ``placements`` and the methods ``redistribute``, ``full_tensor`` and
    ``to_local``. See Note [DTensor].
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise TypeError("DTensor is not called; distribute_tensor and DTensor.from_local make tensors on a mesh")

    @staticmethod
    def from_local(
        local_tensor: Tensor,
        device_mesh: Any = None,
        placements: Sequence[Placement] | None = None,
        *,
        run_check: bool = False,
        shape: Sequence[int] | None = None,
        stride: Sequence[int] | None = None,
        grad_placements: Sequence[Placement] | None = None,
    ) -> Tensor:
        """Return the tensor of which this process gives ``local_tensor``, its part; gradients pass (source: torch's).

        ``placements`` are by default `Replicate`. `Partial` on jax is summed at once, over the processes. ``shape`` is that
        of the whole; by default all parts have one size. ``grad_placements`` say how the gradient lies whose part this
        process gets; by default as the tensor does. Raises ``PlacementError`` for placements that do not fit.
        """
        mesh = current_mesh("from_local", device_mesh)
        if isinstance(local_tensor, DTensor):
            raise PlacementError("from_local: the tensor lies on a mesh already", hint="redistribute changes how")
        given = (Replicate(),) * mesh.ndim if placements is None else placements
        chosen = check_placements("from_local", given, mesh, local_tensor.shape)
        found = _to_device(local_tensor, mesh)
        size = list(found.shape if shape is None else shape)
        if has_devices(mesh.device_type):
            if (partial := next((each for each in chosen if isinstance(each, Partial)), None)) is not None:
                found = _sum_processes(found, mesh, partial)
                chosen = without_partial(chosen)
            if shape is None:
                size = _size_of_processes(mesh, chosen, size)
        elif shape is None:
            for dim, each in enumerate(chosen):
                if isinstance(each, Shard):
                    size[each.dim] *= mesh.size(dim)
        return _take_part(found, mesh, chosen, size, None if grad_placements is None else tuple(grad_placements))


def _to_device(tensor: Tensor, mesh: DeviceMesh) -> Tensor:
    """Return a tensor on a mesh's device; one without numbers stays where processes have parts of it."""
    if tensor.is_meta and not has_devices(mesh.device_type):
        return tensor
    found: Tensor = tensor.to(mesh.device_type)
    return found


def _take_part(tensor: Tensor, mesh: DeviceMesh, placements: Any, size: list[int], gradients: Any = None) -> Tensor:
    """Return the tensor of which this one is this process's part."""
    if tensor.is_meta and not has_devices(mesh.device_type):
        return wrap_part(tensor, Spec(mesh, placements, size))  # the operator tells its shape alone
    made: Tensor = _operators.from_local(tensor, mesh, placements, size, gradients)
    return made


def _sum_processes(tensor: Tensor, mesh: DeviceMesh, partial: Partial) -> Tensor:
    """Return the tensors of all processes combined; of one it is the tensor."""
    from ..collectives import all_reduce
    from ..process_groups import is_group

    if is_group():
        made = tensor.clone()
        all_reduce(made, partial.reduce_op)
        return made
    engine = find_interface(mesh.device_type).placements
    if engine.process()[1] == 1 or not hasattr(engine, "sum_processes"):
        return tensor
    found: Tensor = frontend.wrap(engine.sum_processes(to_data(materialize(tensor.detach())), mesh, partial.reduce_op))
    return found


def _size_of_processes(mesh: DeviceMesh, placements: Sequence[Placement], size: list[int]) -> list[int]:
    """Return the size of a whole of which each process has an equal part."""
    from ..process_groups import get_world_size, is_group

    engine = find_interface(mesh.device_type).placements
    if hasattr(engine, "whole_size"):
        found: list[int] = engine.whole_size(mesh, placements, size)
        return found
    cut = next((each.dim for each in placements if isinstance(each, Shard)), None)
    if cut is not None and is_group():
        size[cut] *= get_world_size()
    return size


def distribute_tensor(
    tensor: Tensor,
    device_mesh: Any = None,
    placements: Sequence[Placement] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> Tensor:
    """Return a tensor on a mesh with the numbers of another one (source: ``torch.distributed.tensor.distribute_tensor``).

    It is a leaf, which requires gradients as ``tensor`` does. ``placements`` are by default `Replicate` along all dimensions
    of the mesh. Between processes the numbers are those of rank ``src_data_rank``; with None each has them already. Raises
    ``PlacementError`` for placements that do not fit: `Partial`, too many or too few, a dimension that the tensor has not;
    on jax also for one that the mesh does not divide.
    """
    mesh = current_mesh("distribute_tensor", device_mesh)
    given = (Replicate(),) * mesh.ndim if placements is None else placements
    chosen = check_placements("distribute_tensor", given, mesh, tensor.shape)
    if any(isinstance(each, Partial) for each in chosen):
        raise PlacementError(
            f"distribute_tensor: {[*chosen]} has parts that are to be summed, of one tensor",
            hint="DTensor.from_local takes such parts, and Shard or Replicate place a whole",
        )
    if (known := placement_of(tensor)) is not None:
        if known != (mesh, chosen):
            raise PlacementError(
                f"distribute_tensor: the tensor lies on {known[0]} already, by {[*known[1]]}, not on {mesh} by {[*chosen]}",
                hint="redistribute changes how it lies",
            )
        return tensor
    with no_grad():
        made = place(_to_device(tensor.detach(), mesh), mesh, chosen, src_data_rank)
    return made.requires_grad_(tensor.requires_grad)


def place(tensor: Tensor, mesh: DeviceMesh, placements: Sequence[Placement], source: int | None) -> Tensor:
    """Return an ordinary tensor's numbers on a mesh."""
    if has_devices(mesh.device_type):
        made: Tensor = _operators.redistribute(tensor, mesh, tuple(placements))
        return made
    if source is not None and mesh.size() > 1 and not tensor.is_meta:
        tensor = tensor.contiguous().clone()
        for dim in range(mesh.ndim):
            _operators.broadcast_(tensor, source, mesh.get_group(dim))
    whole = _take_part(tensor, mesh, (Replicate(),) * mesh.ndim, list(tensor.shape))
    made = _operators.redistribute(whole, mesh, tuple(placements))
    return made


def _find(tensor: Tensor, name: str) -> tuple[Any, tuple[Any, ...]]:
    found = placement_of(tensor)
    if found is None:
        raise AttributeError(f"{type(tensor).__name__!r} object has no attribute {name!r}", name=name, obj=tensor)
    return found


def _device_mesh(self: Tensor) -> DeviceMesh:
    """Return the mesh that the tensor lies on."""
    return as_device_mesh(_find(self, "device_mesh")[0])


def _placements(self: Tensor) -> tuple[Placement, ...]:
    """Return how the tensor lies along each dimension of its mesh."""
    return _find(self, "placements")[1]


def redistribute(
    self: Tensor, device_mesh: Any = None, placements: Sequence[Placement] | None = None, *, async_op: bool = False
) -> Tensor:
    """Return a tensor with the same numbers that lies otherwise; gradients pass (source: ``DTensor.redistribute``).

    Raises ``PlacementError`` for placements that do not fit, and for `Partial`.
    """
    known = placement_of(self)
    mesh = as_device_mesh(known[0]) if device_mesh is None and known else current_mesh("redistribute", device_mesh)
    if placements is None:
        raise PlacementError(
            "redistribute: placements are needed", hint="as in x.redistribute(placements=[Replicate()])"
        )
    chosen = check_placements("redistribute", placements, mesh, self.shape)
    before = known[1] if known is not None and len(known[1]) == len(chosen) else chosen
    for one, other in zip(before, chosen, strict=True):
        if isinstance(other, Partial) and other != one:
            raise PlacementError(
                f"Can not redistribute from {one} to {other}, redistributing to Partial is for internal use only!"
            )
    made: Tensor = _operators.redistribute(self, mesh, chosen)
    return made


def full_tensor(self: Tensor, *, grad_placements: Any = None) -> Tensor:
    """Return the whole as an ordinary tensor, on this process's device; gradients pass (source: ``DTensor.full_tensor``)."""
    mesh = as_device_mesh(_find(self, "full_tensor")[0])
    whole = redistribute(self, mesh, (Replicate(),) * mesh.ndim)
    return to_local(whole, grad_placements=grad_placements)


def to_local(self: Tensor, *, grad_placements: Any = None) -> Tensor:
    """Return this process's part as an ordinary tensor; gradients pass (source: ``DTensor.to_local``).

    On jax it has the parts of all devices of the process. ``grad_placements`` say how the gradient of the part lies; by
    default as the tensor does.
    """
    _find(self, "to_local")
    made: Tensor = _operators.to_local(self, None if grad_placements is None else tuple(grad_placements))
    return made


#: What tensors on a mesh answer besides a tensor's methods; see Note [DTensor].
_ANSWERS: Final[dict[str, Any]] = {
    "device_mesh": property(_device_mesh),
    "placements": property(_placements),
    "redistribute": redistribute,
    "full_tensor": full_tensor,
    "to_local": to_local,
}
for _name, _answer in _ANSWERS.items():
    setattr(Tensor, _name, _answer)
    setattr(DTensor, _name, _answer)
