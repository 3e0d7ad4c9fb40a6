"""einops on tensors: importing this module makes tensors known to it.

``einops.array_api`` needs no import, as it asks a tensor for its namespace; ``einops.rearrange`` and the others know the
libraries for which einops has a backend, and this one from here on. Gradients are kept.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, Final

import numpy as np

import torchlike_array_api as array_api

from ..functions.operator_functions import FUNCTIONS
from ..tensors.arrays import from_numpy
from ..tensors.tensor import Tensor

__all__ = ["register"]


#: The class once it is made: einops refers to it weakly.
_backends: Final[list[type]] = []


def register() -> None:
    """Make tensors known to einops, which finds the subclasses of its class of backends; a second call changes nothing.

    Raises ``ModuleNotFoundError`` where einops is not installed.
    """
    from einops._backends import AbstractBackend  # einops has no public name for it

    if _backends:
        return

    class TorchlikeBackend(AbstractBackend):
        """The functions that einops is made of."""

        framework_name = "torchlike"

        def is_appropriate_type(self, tensor: object) -> bool:
            return isinstance(tensor, Tensor)

        def from_numpy(self, x: np.typing.NDArray[Any]) -> Tensor:
            return from_numpy(x)

        def to_numpy(self, x: Tensor) -> np.typing.NDArray[Any]:
            return x.numpy(force=True)

        def arange(self, start: int, stop: int) -> Tensor:
            return array_api.arange(start, stop)

        def transpose(self, x: Tensor, axes: Any) -> Tensor:
            return array_api.permute_dims(x, tuple(axes))

        def reduce(self, x: Tensor, operation: str, axes: Any) -> Tensor:
            return getattr(array_api, operation)(x, axis=tuple(axes))

        def stack_on_zeroth_dimension(self, tensors: list[Tensor]) -> Tensor:
            return array_api.stack(tensors)

        def add_axis(self, x: Tensor, new_position: int) -> Tensor:
            return array_api.expand_dims(x, new_position)

        def add_axes(self, x: Tensor, n_axes: int, pos2len: dict[int, int]) -> Tensor:
            for position in pos2len:
                x = self.add_axis(x, position)
            return FUNCTIONS["broadcast_to"](x, [pos2len.get(place, size) for place, size in enumerate(x.shape)])

        def tile(self, x: Tensor, repeats: Any) -> Tensor:
            return array_api.tile(x, tuple(repeats))

        def concat(self, tensors: list[Tensor], axis: int) -> Tensor:
            return array_api.concat(tensors, axis=axis)

        def is_float_type(self, x: Tensor) -> bool:
            return x.is_floating_point()

        def einsum(self, pattern: str, *x: Tensor) -> Tensor:
            return FUNCTIONS["einsum"](pattern, *x)

    _backends.append(TorchlikeBackend)


if find_spec("einops") is not None:
    register()
