"""All parameters as one vector, and back (source: ``torch.nn.utils.convert_parameters``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...functions.operator_functions import FUNCTIONS
from ...tensors.tensor import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def _check_device(parameter: Any, device: Any) -> Any:
    if device is not None and parameter.device != device:
        raise TypeError("Found two parameters on different devices, this is currently not supported.")
    return parameter.device


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Return the elements of all parameters, one after the other."""
    device, parts = None, []
    for parameter in parameters:
        device = _check_device(parameter, device)
        parts.append(parameter.view(-1))
    found: Tensor = FUNCTIONS["cat"](parts)
    return found


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Turn the parameters into slices of a vector, one after the other; they share its memory.

    Raises ``TypeError`` for anything but a tensor.
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torchlike.Tensor, but got: {type(vec).__name__}")
    device, start = None, 0
    for parameter in parameters:
        device = _check_device(parameter, device)
        end = start + parameter.numel()
        parameter.data = vec[start:end].view_as(parameter).data
        start = end
