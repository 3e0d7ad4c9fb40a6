"""Ways to write to a tensor from another one of its shape, and the mesh that they are tried on."""

from __future__ import annotations

import re

import numpy as np

import dispatch_core as dc
import torchlike as torch
from dispatch_aten.placements import DeviceMesh, Replicate, Shard
from dispatch_aten.placements.operators import placement_of

nn = torch.nn
MESH = DeviceMesh("jax", np.arange(8).reshape(2, 4), mesh_dim_names=("data", "model"))
CUT = (Shard(0), Shard(1))


def place(tensor, mesh, *placements):
    return dc.ops.dispatch.redistribute(tensor, mesh, placements)


def placements(tensor):
    found = placement_of(tensor)
    return None if found is None else found[1]


WRITES = {
    "zero_": lambda x, y: x.zero_(),
    "fill_": lambda x, y: x.fill_(3),
    "copy_ of the host": lambda x, y: x.copy_(torch.ones(8, 4)),
    "copy_": lambda x, y: x.copy_(y),
    "copy_ of a row": lambda x, y: x.copy_(y[0]),
    "add_": lambda x, y: x.add_(y),
    "mul_ of another placement": lambda x, y: x.mul_(place(y, MESH, Replicate(), Shard(0))),
    "addcdiv_": lambda x, y: x.addcdiv_(y, y + 1),
    "lerp_": lambda x, y: x.lerp_(y, 0.5),
    "foreach": lambda x, y: torch._foreach_add_([x], [y]),
    "out": lambda x, y: torch.add(y, y, out=x),
    "a view": lambda x, y: x[1:3].fill_(7),
    "a view of a view": lambda x, y: x.t()[1].add_(1),
    "an item": lambda x, y: x.__setitem__((slice(None), 0), 5.0),
    "a mask": lambda x, y: x.masked_fill_(y > 3, 2),
    "uniform_": lambda x, y: nn.init.uniform_(x),
    "normal_": lambda x, y: nn.init.normal_(x),
    "kaiming": lambda x, y: nn.init.kaiming_normal_(x),
    "trunc_normal_": lambda x, y: nn.init.trunc_normal_(x),
}


#: Draws, and copies between devices, are not captured.
CAPTURED = [name for name in WRITES if not re.search("uniform|normal|kaiming|host|another", name)]
