"""Tensors over several devices: one tensor, parts of which lie on each (source: ``torch.distributed.tensor``).

A mesh says which devices, placements how a tensor lies along each of its dimensions: `Shard` in parts, `Replicate` whole.
Every function of torchlike takes such tensors.

>>> from torchlike.distributed.tensor import DTensor, Shard, distribute_tensor, init_device_mesh
>>> import torchlike
>>> x = distribute_tensor(torchlike.ones(4, 2), init_device_mesh("cpu", (1,)), [Shard(0)])
>>> isinstance(x, DTensor), x.placements, x.full_tensor().shape
(True, (Shard(dim=0),), torchlike.Size([4, 2]))
"""

from __future__ import annotations

from dispatch_aten.placements import Partial, Placement, Replicate, Shard

from ..device_mesh import DeviceMesh, init_device_mesh
from .dtensor import DTensor, distribute_tensor
from .factories import empty, full, ones, rand, randn, zeros
from .modules import distribute_module

__all__ = [
    "DTensor",
    "DeviceMesh",
    "Partial",
    "Placement",
    "Replicate",
    "Shard",
    "distribute_module",
    "distribute_tensor",
    "empty",
    "full",
    "init_device_mesh",
    "ones",
    "rand",
    "randn",
    "zeros",
]
