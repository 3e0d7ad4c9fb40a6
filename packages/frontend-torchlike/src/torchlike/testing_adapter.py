"""How a conformance kit makes and reads tensors (entry-point group ``dispatch_core.frontends``).

A frontend that brings these functions has devices checked with tensors, too: writes, views, gradients, pipelines.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import dispatch_core as dc
from dispatch_core import ops

from .autograd.gradients import grad
from .tensors.arrays import from_numpy
from .tensors.tensor import Tensor


def make(values: np.ndarray[Any, Any], device: str, *, requires_grad: bool = False) -> Tensor:
    """Return a tensor on a device with the values of a NumPy array, row by row.

    >>> make(np.ones(2), "cpu")
    tensor([1., 1.], dtype=torchlike.float64)
    """
    array = ops.prims.device_put(np.array(values, order="C"), device=dc.Device(device))
    made: Tensor = dc.wrap_like(from_numpy(np.ones(0)), array)
    return made.requires_grad_(requires_grad)


def read(tensor: Tensor) -> np.ndarray[Any, Any]:
    """Return a tensor's values as NumPy's, from any device.

    >>> read(make(np.ones(2), "cpu"))
    array([1., 1.])
    """
    return np.array(ops.prims.device_get(tensor.detach()))


def detach(tensor: Tensor) -> Tensor:
    """Return a tensor with the same memory and no history."""
    return tensor.detach()


def move(tensor: Tensor, device: str) -> Tensor:
    """Return the tensor on another device."""
    return tensor.to(device)


def gradients(outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> list[Tensor | None]:
    """Return the gradients of the outputs' sums by the inputs, None where nothing depends on one.

    >>> x = make(np.ones(2), "cpu", requires_grad=True)
    >>> gradients([x * 3], [x])
    [tensor([3., 3.], dtype=torchlike.float64)]
    """
    return list(grad(outputs, inputs, [output.new_ones(output.shape) for output in outputs], allow_unused=True))


def find_taken_names(device: str) -> list[str]:
    """Return the names of torchlike's own, or of its tensors', that keep a device from a module or methods of its name.

    >>> find_taken_names("relu"), find_taken_names("npu")
    (['torchlike.relu', 'torchlike.Tensor.relu'], [])
    """
    from .device_modules.absent_names import PLAIN  # the conformance kit needs none of these
    from .device_modules.device_methods import is_method_taken
    from .device_modules.modules import is_taken

    if device in PLAIN:  # they have torch's own
        return []
    return [
        *([f"torchlike.{device}"] if is_taken(device) else ()),
        *([f"torchlike.Tensor.{device}"] if is_method_taken(device) else ()),
    ]
