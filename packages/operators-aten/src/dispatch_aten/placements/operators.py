"""The operators that change where a tensor lies, and that let one lie as another does.

It is the same for every device. A device whose arrays lie on several devices has a kernel for it, and a layout of tensors
that lie in parts one for its records; it is a step of a program there, with a gradient. On any other it is refused.

``dispatch::place_like`` is called for what takes the place of a tensor's array, and for gradients and states that belong
to a tensor: they lie as that does, where both have one shape.
"""

from __future__ import annotations

from typing import Any, Final

import dispatch_core as dc
from dispatch_core.frontends import run_outside
from dispatch_core.tools import find_interface

from .errors import PlacementError

__all__ = ["define", "placement_of"]

_SCHEMA: Final = "redistribute(Tensor self, Any mesh, Any placements) -> Tensor"
_LIKE: Final = "place_like(Tensor self, Tensor like) -> Tensor"
_aten: Final = dc.ops.aten


def placement_of(tensor: Any) -> tuple[Any, tuple[Any, ...]] | None:
    """Return the mesh that a tensor lies on, and its placements there; None for one on one device."""
    record = dc.frontends.to_data(tensor)
    if (found := getattr(record, "placements", None)) is not None and hasattr(record, "mesh"):
        return record.mesh, tuple(found)
    engine = find_interface(dc.device(tensor).type).placements
    return None if engine is None else engine.find(dc.frontends.materialize(tensor))


def _refuse(self: Any, mesh: Any, placements: Any) -> Any:
    raise PlacementError(
        f"redistribute: a tensor on {dc.device(self)} lies on one device, and not on {mesh}",
        hint="distribute_tensor places it",
    )


def _backward(ctx: Any, grad: Any) -> tuple[Any, None, None]:
    return dc.ops.dispatch.redistribute(grad, ctx.mesh, ctx.placements), None, None


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    _, ctx.mesh, ctx.placements = inputs


def define() -> dc.Library:
    """Define the operator; return its library."""
    library = dc.Library("dispatch", "FRAGMENT")
    name = library.define(_SCHEMA).partition("::")[2]
    library.impl(name, _refuse, "CompositeExplicitAutograd")
    dc.register_fake(f"dispatch::{name}", lambda self, mesh, placements: _aten.empty_like(self), lib=library)
    dc.register_autograd(f"dispatch::{name}", _backward, setup_context=_keep, lib=library)
    name = library.define(_LIKE).partition("::")[2]
    library.impl(name, lambda self, like: _aten.clone(self), "CompositeExplicitAutograd")
    dc.register_fake(f"dispatch::{name}", lambda self, like: _aten.empty_like(self), lib=library)
    dc.register_autograd(f"dispatch::{name}", lambda ctx, grad: (grad, None), lib=library)
    return library


LIBRARY: Final = run_outside(define)
