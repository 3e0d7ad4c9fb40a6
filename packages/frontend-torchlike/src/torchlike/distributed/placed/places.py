"""Tensors are placed on a mesh of processes, and their parts taken out: kernels of the operators of ``dispatch``.

An ordinary tensor becomes a placed one by ``from_local``, of which each process gives a part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.placements import DeviceMesh, Placement, PlacementError, check_placements

from .moves import check_target, move
from .tensor import Spec, record_of, wrap_part

__all__ = ["KERNELS"]

_aten, _own = dc.ops.aten, dc.ops.dispatch


def _from_local(
    self: Any, mesh: DeviceMesh, placements: Sequence[Placement], size: Sequence[int], grad_placements: Any = None
) -> Any:
    found = check_placements("from_local", placements, mesh, size)
    return wrap_part(_plain(self), Spec(mesh, found, size))


def _plain(x: Any) -> Any:
    """Return a tensor in the same memory without history."""
    return _aten.detach(x)


def _to_local(self: Any, grad_placements: Any = None) -> Any:
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


def _place_like(self: Any, like: Any) -> Any:
    record = record_of(like)
    if record is None:
        return _aten.clone(self)
    if record_of(self) is not None:
        return _redistribute(self, record.mesh, record.spec.without_partial.placements)
    spec = Spec(record.mesh, record.spec.without_partial.placements, dc.shape(self))
    return wrap_part(move(_plain(self), spec.whole, spec, copies=True), spec)


#: The kernels of the layout's tensors.
KERNELS: Final[dict[str, Callable[..., Any]]] = {
    "to_local": _to_local,
    "redistribute": _redistribute,
    "place_like": _place_like,
}


def _register() -> dc.Library:
    """Register the kernel by which ordinary tensors are parts, on devices without arrays over several of their own."""
    library = dc.Library("dispatch", "IMPL")
    library.impl("from_local", _from_local, "CompositeExplicitAutograd", allow_override=True)
    return library


LIBRARY: Final = dc.frontends.run_outside(_register)
