"""The operators of tensors over several devices: where one lies is changed, and a process's part is taken or given.

They are the same for every device. A device whose arrays lie on several devices of a process computes them by the
``placements`` of its interface, and a layout of tensors that lie in parts has kernels for its records. Each is a step of a
program, with a gradient that lies as the argument does.

``dispatch::place_like`` is called for an array that takes the place of a tensor's array, and for gradients and states that
belong to a tensor: they lie as that does, where both have one shape. On devices that know no placements it is a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

import dispatch_core as dc
from dispatch_core.frontends import Pending, run_outside, to_data
from dispatch_core.tools import find_interface

from .errors import PlacementError
from .types import Partial, Replicate

__all__ = ["define", "is_unknown", "placement_of", "without_partial"]

_SCHEMAS: Final = """
redistribute(Tensor self, Any mesh, Any placements) -> Tensor
to_local(Tensor self, Any? grad_placements=None) -> Tensor
from_local(Tensor self, Any mesh, Any placements, SymInt[] size, Any? grad_placements=None) -> Tensor
place_like(Tensor self, Tensor like) -> Tensor
"""
_aten, _own = dc.ops.aten, dc.ops.dispatch


def placement_of(tensor: Any) -> tuple[Any, tuple[Any, ...]] | None:
    """Return the mesh that a tensor lies on, and its placements there; None for one on one device, or not computed yet."""
    record = to_data(tensor)
    if hasattr(record, "mesh") and hasattr(record, "placements"):
        return record.mesh, tuple(record.placements)
    array = record.value if isinstance(record, Pending) else record
    engine = None if array is None else find_interface(dc.device(tensor).type).placements
    return None if engine is None else engine.find(array)


def is_unknown(tensor: Any) -> bool:
    """Return whether a tensor is not computed yet, so that it is not known where it will lie."""
    data = to_data(tensor)
    return isinstance(data, Pending) and data.value is None


def without_partial(placements: Sequence[Any]) -> tuple[Any, ...]:
    """Return placements with the whole in the place of `Partial`, as gradients lie."""
    return tuple(Replicate() if isinstance(each, Partial) else each for each in placements)


def _refuse(name: str) -> Callable[..., NoReturn]:
    def run(self: Any, *args: Any) -> NoReturn:
        raise PlacementError(
            f"{name}: tensors on {dc.device(self).type} lie on one device each",
            hint="a mesh of processes has tensors on cpu and npu, one of devices those on jax",
        )

    return run


def _clone(self: Any, like: Any) -> Any:
    return _aten.clone(self)


def _backward_of_redistribute(ctx: Any, grad: Any) -> tuple[Any, None, None]:
    return _own.redistribute(grad, *ctx.place), None, None


def _backward_of_to_local(ctx: Any, grad: Any) -> tuple[Any, None]:
    return grad if ctx.place is None else _own.from_local(grad, *ctx.place, ctx.size), None


def _backward_of_from_local(ctx: Any, grad: Any) -> tuple[Any, None, None, None, None]:
    known = placement_of(grad)
    lies = grad if known is not None and known[1] == ctx.place[1] else _own.redistribute(grad, *ctx.place)
    return _own.to_local(lies), None, None, None, None


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keep where the argument lies, or the result where that is not known, as in a program that is traced."""
    mesh, placements = placement_of(inputs[0]) or inputs[1:]
    ctx.place = mesh, without_partial(placements)


def _keep_local(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    found = placement_of(inputs[0])
    ctx.place = None if found is None else (found[0], inputs[1] or without_partial(found[1]))
    ctx.size = list(dc.shape(inputs[0]))


def _keep_given(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    ctx.place = inputs[1], inputs[4] or without_partial(inputs[2])


_FORMULAS: Final[dict[str, tuple[Callable[..., Any], Callable[..., None]]]] = {
    "redistribute": (_backward_of_redistribute, _keep),
    "to_local": (_backward_of_to_local, _keep_local),
    "from_local": (_backward_of_from_local, _keep_given),
    "place_like": (lambda ctx, grad: (grad, None), lambda ctx, inputs, output: None),
}
_FAKES: Final[dict[str, Callable[..., Any]]] = {
    "redistribute": lambda self, mesh, placements: _aten.empty_like(self),
    "to_local": lambda self, grad_placements=None: _aten.empty_like(self),
    "from_local": lambda self, mesh, placements, size, grad_placements=None: _aten.new_empty(self, size),
    "place_like": lambda self, like: _aten.empty_like(self),
}


def define() -> dc.Library:
    """Define the operators; return their library."""
    library = dc.Library("dispatch", "FRAGMENT")
    for schema in filter(None, _SCHEMAS.splitlines()):
        name = library.define(schema).partition("::")[2]
        kernel = _clone if name == "place_like" else _refuse(name)
        library.impl(name, kernel, "CompositeExplicitAutograd")
        dc.register_fake(f"dispatch::{name}", _FAKES[name], lib=library)
        backward, keep = _FORMULAS[name]
        dc.register_autograd(f"dispatch::{name}", backward, setup_context=keep, lib=library)
    return library


LIBRARY: Final = run_outside(define)
