"""Modules whose parameters lie on a mesh (source: ``torch.distributed.tensor.distribute_module``).

Note [One parameter in two modules]
    A parameter on a mesh is another object, as in torch. Where two modules have one parameter, they have one afterwards: a
    call notes which it has made of each.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any, TypeAlias

from dispatch_aten.placements import Placement, Replicate, placement_of

from ...nn.modules.module import Module
from ...nn.parameter import Parameter
from ..device_mesh import DeviceMesh, current_mesh
from .dtensor import distribute_tensor

__all__ = ["distribute_module", "place_parameter"]


#: Parameters → those on the mesh; see Note [One parameter in two modules].
Made: TypeAlias = dict[Any, Any]


def place_parameter(
    module: Module,
    name: str,
    mesh: DeviceMesh,
    placements: Sequence[Placement],
    source: int | None = 0,
    made: Made | None = None,
) -> None:
    """Put a parameter of a module on a mesh; one that lies on a mesh already stays."""
    known = getattr(module, name)
    if known is None or placement_of(known) is not None:
        return
    found = None if made is None else made.get(known)
    if found is None:
        lying = distribute_tensor(known.detach(), mesh, placements, src_data_rank=source)
        found = Parameter(lying, requires_grad=known.requires_grad)
        if made is not None:
            made[known] = found
    module.register_parameter(name, found)


def replicate_rest(module: Module, mesh: DeviceMesh, source: int | None = 0, made: Made | None = None) -> None:
    """Put a module's own tensors on a mesh, whole on each device, unless it lies on one."""
    whole = (Replicate(),) * mesh.ndim
    for name in [*module._parameters]:
        place_parameter(module, name, mesh, whole, source, made)
    for name, buffer in module._buffers.items():
        if buffer is not None and placement_of(buffer) is None:
            module._buffers[name] = distribute_tensor(buffer, mesh, whole, src_data_rank=source)


def distribute_module(
    module: Module,
    device_mesh: Any = None,
    partition_fn: Callable[[str, Module, DeviceMesh], object] | None = None,
    input_fn: Callable[..., Any] | None = None,
    output_fn: Callable[..., Any] | None = None,
) -> Module:
    """Put a module's parameters and buffers on a mesh, and return it (source: ``torch.distributed.tensor``).

    ``partition_fn(name, submodule, mesh)`` places those of a module as it likes; what it leaves is replicated.
    ``input_fn(module, inputs, mesh)`` changes the arguments of each call, ``output_fn(module, outputs, mesh)`` its results.
    """
    mesh = current_mesh("distribute_module", device_mesh)
    made: Made = {}
    for name, each in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, each, mesh)
        replicate_rest(each, mesh, made=made)
    if input_fn is not None:
        enter = _take_module(input_fn)
        module.register_forward_pre_hook(lambda mod, inputs: enter(mod, inputs, mesh))
    if output_fn is not None:
        leave = _take_module(output_fn)
        module.register_forward_hook(lambda mod, inputs, outputs: leave(mod, outputs, mesh))
    return module


def _take_module(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of module, values and mesh; torch still takes one of values and mesh, and warns."""
    count = len(signature(function).parameters)
    if count == 2:
        warnings.warn(
            "a function of two arguments, (inputs or outputs, device_mesh), is deprecated, please use"
            " (module, inputs or outputs, device_mesh)",
            FutureWarning,
            stacklevel=3,
        )
        return lambda module, values, mesh: function(values, mesh)
    if count != 3:
        raise ValueError(f"a function of module, values and mesh was expected, not one of {count} arguments")
    return function
