"""Functions of networks (source: ``torch.nn.functional``)."""

from __future__ import annotations

import warnings
from typing import Any

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType

from ..arguments import check_tensor
from ..functions import FUNCTIONAL, FUNCTIONS
from ..tensors import Tensor

__all__ = [
    "binary_cross_entropy_with_logits",
    "cross_entropy",
    "dropout",
    "elu",
    "embedding",
    "gelu",
    "l1_loss",
    "leaky_relu",
    "linear",
    "log_softmax",
    "mse_loss",
    "nll_loss",
    "normalize",
    "one_hot",
    "relu",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "tanh",
]

linear = FUNCTIONAL["linear"]
gelu = FUNCTIONAL["gelu"]
softplus = FUNCTIONAL["softplus"]
one_hot = FUNCTIONAL["one_hot"]
sigmoid = FUNCTIONS["sigmoid"]
tanh = FUNCTIONS["tanh"]
_relu, _relu_ = FUNCTIONS["relu"], FUNCTIONS["relu_"]

#: torch's numbers for the reductions of a batch's losses.
_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def _to_number(name: str) -> int:
    if not isinstance(name, str):
        raise TypeError(f"reduction must be str, not {type(name).__name__}")
    if name not in _REDUCTIONS:
        raise ValueError(f"{name} is not a valid value for reduction")
    return _REDUCTIONS[name]


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


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set elements to zero with probability ``p`` while training, and scale the others by ``1 / (1 - p)``."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    return FUNCTIONS["dropout_" if inplace else "dropout"](input, p, training)


def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None) -> Tensor:
    """Return the rows of ``weight`` that ``input`` names."""
    return FUNCTIONS["embedding"](weight, input, -1 if padding_idx is None else padding_idx)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    *,
    label_smoothing: float = 0.0,
) -> Tensor:
    """Return the negative log probability of the target classes, from scores of shape ``(N, C, ...)``.

    >>> import torchlike
    >>> cross_entropy(torchlike.zeros(1, 4), torchlike.tensor([2]))
    tensor(1.3863)
    """
    return dc.ops.aten.cross_entropy_loss(input, target, weight, _to_number(reduction), ignore_index, label_smoothing)


def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean"
) -> Tensor:
    """Return the negative log probability of the target classes, from log probabilities."""
    return dc.ops.aten.nll_loss_nd(input, target, weight, _to_number(reduction), ignore_index)


def _warn_of_broadcast(name: str, input: Tensor, target: Tensor) -> None:
    check_tensor(input, name)
    check_tensor(target, name, "target")
    if target.shape != input.shape:
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will likely "
            f"lead to incorrect results due to broadcasting. Please ensure they have the same size. ({name})",
            UserWarning,
            stacklevel=3,
        )


def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Return the squared differences, or their mean or sum."""
    _warn_of_broadcast("mse_loss", input, target)
    return dc.ops.aten.mse_loss(*FUNCTIONS["broadcast_tensors"]([input, target]), _to_number(reduction))


def l1_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Return the absolute differences, or their mean or sum."""
    _warn_of_broadcast("l1_loss", input, target)
    return dc.ops.aten.l1_loss(*FUNCTIONS["broadcast_tensors"]([input, target]), _to_number(reduction))


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Return the binary cross entropy between scores and targets from zero to one."""
    check_tensor(input, "binary_cross_entropy_with_logits")
    check_tensor(target, "binary_cross_entropy_with_logits", "target")
    if target.shape != input.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    return dc.ops.aten.binary_cross_entropy_with_logits(input, target, weight, pos_weight, _to_number(reduction))


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """Divide by the norm along ``dim``."""
    check_tensor(input, "normalize")
    norm: Any = FUNCTIONS["norm"](input, p, dim, keepdim=True).clamp_min(eps)
    return input / norm.expand_as(input)
