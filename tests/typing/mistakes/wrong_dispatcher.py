"""Mistakes with what decorates functions, and with the dispatcher itself."""

import numpy as np

import dispatch_core as dc
import torchlike as torch
from torchlike import Tensor

x = torch.ones(2, 3)
torch.no_grad(3)  # error
dc.DispatchKeySet(3.5)  # error
dc.DispatchKey.CPUU  # error
dc.Library()  # error
dc.Library(3, "DEF")  # error
lib = dc.Library("x", "DEF")
lib.impl("op", 3)  # error
lib.impll("op", len)  # error
lib.define(3)  # error
lib.impl("op")(3)  # error
lib.impl("op", len)(3, 4)  # error
dc.FunctionSchema.parse(3)  # error
dc.explain()  # error
dc.load_backend()  # error
dc.load_backend(3)  # error
dc.pipelin()  # error
torch.pipeline(3)  # error
torch.capture(3)  # error


@dc.custom_op("demo::twice", mutates_args=())
def twice(x: Tensor, times: int = 2) -> Tensor:
    return x * times


twice(x, times="3")  # error
twice(x, time=3)  # error
twice()  # error
r: str = twice(x)  # error
twice.register_fak(lambda x, times: x)  # error
twice.register_vmap(3)  # error
twice.register_autocast("cpu")  # error
twice.register_autocast(3, torch.float16)  # error


@torch.no_grad()
def evaluate(x: Tensor) -> Tensor:
    return x


evaluate("x")  # error
evaluate()  # error


@torch.capture
def shift(x: Tensor) -> Tensor:
    return x


shift("x")  # error
shift()  # error


with torch.inference_mode(mode="x"):  # error
    pass


dc.custom_op("demo::x")  # error
dc.custom_op("demo::x", mutates_args=3)  # error
dc.register_backend()  # error
dc.include_keys(3.5)  # error


def call_operators(x: np.ndarray) -> None:
    dc.ops.aten.ad(x, x)  # error
    dc.ops.aten.add(x)  # error
    dc.ops.aten.add(x, x, alfa=2)  # error
    dc.ops.aten.add(x, x, alpha="2")  # error
    dc.ops.aten.softmax(x)  # error
    dc.ops.aten.softmax(x, "rows")  # error
    dc.ops.aten.zeros([2, "3"])  # error
    dc.ops.aten.zeros([2, 3], dtype="float32")  # error
    dc.ops.aten.zeros([2, 3], device=3.5)  # error
    dc.ops.aten.cat(x, x)  # error
    dc.ops.prims.device_gett(x)  # error
