"""Modules cut over a mesh by a plan: which of their layers, and how (source: ``torch.distributed.tensor.parallel``).

>>> import torchlike
>>> from torchlike.distributed.tensor import init_device_mesh
>>> mesh = init_device_mesh("cpu", (1,))
>>> net = torchlike.nn.Sequential(torchlike.nn.Linear(4, 8), torchlike.nn.ReLU(), torchlike.nn.Linear(8, 4))
>>> net = parallelize_module(net, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
>>> net[0].weight.placements, net[2].weight.placements
((Shard(dim=0),), (Shard(dim=1),))
"""

from __future__ import annotations

from .modules import parallelize_module
from .styles import (
    ColwiseParallel,
    ParallelStyle,
    PrepareModuleInput,
    PrepareModuleInputOutput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
)

__all__ = [
    "ColwiseParallel",
    "ParallelStyle",
    "PrepareModuleInput",
    "PrepareModuleInputOutput",
    "PrepareModuleOutput",
    "RowwiseParallel",
    "SequenceParallel",
    "loss_parallel",
    "parallelize_module",
]
