"""Activations."""

from __future__ import annotations

import warnings

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType

from ...functions import FUNCTIONAL, FUNCTIONS
from ...tensors import Tensor

gelu = FUNCTIONAL["gelu"]
softplus = FUNCTIONAL["softplus"]
sigmoid = FUNCTIONS["sigmoid"]
tanh = FUNCTIONS["tanh"]
_relu, _relu_ = FUNCTIONS["relu"], FUNCTIONS["relu_"]


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``max(input, 0)``."""
    return _relu_(input) if inplace else _relu(input)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``input * sigmoid(input)``."""
    return FUNCTIONAL["silu_" if inplace else "silu"](input)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """Return ``input`` where it is positive, ``negative_slope * input`` elsewhere."""
    return FUNCTIONAL["leaky_relu_" if inplace else "leaky_relu"](input, negative_slope)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Return ``input`` where it is positive, ``alpha * (exp(input) - 1)`` elsewhere."""
    return FUNCTIONAL["elu_" if inplace else "elu"](input, alpha)


def _choose_dim(name: str, input: Tensor, dim: int | None) -> int:
    if dim is not None:
        return dim
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        UserWarning,
        stacklevel=3,
    )
    return 0 if len(dc.shape(input)) in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, dtype: ScalarType | None = None) -> Tensor:
    """Return exponentials that add up to one along ``dim``."""
    return FUNCTIONS["softmax"](input, _choose_dim("softmax", input, dim), dtype)


def log_softmax(input: Tensor, dim: int | None = None, dtype: ScalarType | None = None) -> Tensor:
    """Return the logarithm of ``softmax``, computed without overflow."""
    return FUNCTIONS["log_softmax"](input, _choose_dim("log_softmax", input, dim), dtype)
