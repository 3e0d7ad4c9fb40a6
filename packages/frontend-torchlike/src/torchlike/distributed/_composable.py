"""Functions that change how a module is trained, in place (source: ``torch.distributed._composable``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..nn.modules.module import Module
from .device_mesh import current_mesh, has_devices
from .fsdp import fully_shard
from .process_groups import is_group
from .tensor.modules import Made, replicate_rest

__all__ = ["fully_shard", "replicate"]


def replicate(
    module: Module, ignored_modules: Iterable[Module] | None = None, *, device_mesh: Any = None, **kwargs: Any
) -> Module:
    """Give each device of a mesh a whole copy of a module's parameters, and return it (source: ``replicate``).

    Batches that are cut over the mesh train it in parallel. Between processes each trains with its own batches, and backward
    averages the gradients, as `DistributedDataParallel` does; the options are the same.
    """
    first = next(module.parameters(), None)
    if device_mesh is None and is_group() and (first is None or not has_devices(first.device.type)):
        return _average(module, ignored_modules or (), **kwargs)
    mesh = current_mesh("replicate", device_mesh)
    ignored = {id(each) for one in ignored_modules or () for each in one.modules()}
    made: Made = {}
    for each in module.modules():
        if id(each) not in ignored:
            replicate_rest(each, mesh, made=made)
    return module


def _average(module: Module, ignored_modules: Iterable[Module], **options: Any) -> Module:
    """Make backward average the gradients of a module over the processes of a group."""
    from ..nn.parallel.gradient_sums import GradientSums, find_process_group

    left_out = {id(each) for one in ignored_modules for each in (*one.parameters(), *one.buffers())}
    named = (*module.named_parameters(), *module.named_buffers())
    sums = GradientSums(
        module,
        find_process_group(options.get("process_group"), None),
        {name for name, each in named if id(each) in left_out},
        bucket_cap_mb=options.get("bucket_cap_mb") or 25.0,
        allows_unused=options.get("find_unused_parameters", False) or options.get("static_graph", False),
        broadcasts_buffers=options.get("broadcast_buffers", True),
    )
    sums.check_parameters()
    sums.broadcast_state()
    module.register_forward_pre_hook(lambda *_: sums.before())
    module.register_forward_hook(lambda _, args, outputs: sums.after(outputs))
    return module
