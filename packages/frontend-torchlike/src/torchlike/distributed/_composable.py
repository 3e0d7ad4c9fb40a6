"""Functions that change how a module is trained, in place (source: ``torch.distributed._composable``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..nn.modules.module import Module
from .device_mesh import current_mesh
from .fsdp import fully_shard
from .tensor.modules import Made, replicate_rest

__all__ = ["fully_shard", "replicate"]


def replicate(
    module: Module, ignored_modules: Iterable[Module] | None = None, *, device_mesh: Any = None, **kwargs: Any
) -> Module:
    """Give each device of a mesh a whole copy of a module's parameters, and return it (source: ``replicate``).

    Batches that are cut over the mesh train it in parallel.
    """
    mesh = current_mesh("replicate", device_mesh)
    ignored = {id(each) for one in ignored_modules or () for each in one.modules()}
    made: Made = {}
    for each in module.modules():
        if id(each) not in ignored:
            replicate_rest(each, mesh, made=made)
    return module
