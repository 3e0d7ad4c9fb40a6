"""Captured functions, pipelines, custom operators, libraries."""

from __future__ import annotations

from typing import Any

import numpy as np

import dispatch_core as dc
import torchlike as torch
from torchlike import Tensor

x = a = torch.ones(3)


def double(v: Tensor) -> Tensor:
    return v * 2


@torch.capture
def shift(v: Tensor) -> Tensor:
    return (v * 2 + 1).relu()


shifted: Tensor = shift(x)
with torch.pipeline() as pipe:
    later = (a + 1).sum()
print(later.item(), pipe.stats())


@dc.custom_op("demo::twice", mutates_args=())
def twice(x: Tensor, times: int = 2) -> Tensor:
    return x * times


doubled: Tensor = twice(x, times=3)


@twice.register_fake
def twice_fake(x: Tensor, times: int = 2) -> Tensor:
    return torch.empty_like(x)


@twice.register_kernel("cpu")
def twice_cpu(x: np.ndarray[Any, Any], times: int = 2) -> np.ndarray[Any, Any]:
    return x * times


@twice.register_vmap
def twice_vmap(info: Any, in_dims: tuple[int | None, ...], x: Tensor, times: int = 2) -> tuple[Tensor, int | None]:
    return twice(x, times), in_dims[0]


rule: Any = dc.register_vmap(twice, twice_vmap)
twice.register_autocast("cpu", torch.float16)
dc.register_autocast("demo::twice", "cpu", torch.bfloat16)
keys = dc.DispatchKeySet([dc.DispatchKey.CPU, dc.DispatchKey.Autograd])
print(keys.highest(), dc.DispatchKey.CPU in keys)
library = dc.Library("mine", "DEF")
library.define("op(Tensor x) -> Tensor")
library.impl("op", double, "CPU")


@library.impl("op", key="Meta")
def shape_of(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.empty_like(x)


shaped: np.ndarray[Any, Any] = shape_of(np.ones(2))


def call_operators(x: np.ndarray, registry: dc.Registry) -> None:
    aten = dc.ops.aten
    aten.add(x, x, alpha=2)
    aten.add(x, 1.5)
    aten.add.Tensor(x, x)
    aten.softmax(x, 0)
    aten.zeros([2, 3], dtype=float, device="cpu")
    aten.cat([x, x], 1)
    aten.relu(x).sum()
    print(aten.add.overloads(), aten.add.name)
    dc.ops.prims.device_get(x)
    dc.ops.mine.twice(3, word="x")
    registry.ops.mine.twice.default(3)
