"""Dropout, of elements and of whole channels."""

from __future__ import annotations

import warnings

from ...functions.operator_functions import FUNCTIONS
from ...tensors.arguments import check_tensor
from ...tensors.tensor import Tensor


def _check(name: str, input: Tensor, p: float) -> None:
    check_tensor(input, name)
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _drop(name: str, input: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    _check(name, input, p)
    return FUNCTIONS[f"{name}_" if inplace else name](input, p, training)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set elements to zero with probability ``p`` while training, and scale the others by ``1 / (1 - p)``."""
    return _drop("dropout", input, p, training, inplace)


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Set elements to the least value of ``selu`` so that mean and variance are kept."""
    return _drop("alpha_dropout", input, p, training, inplace)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Set whole channels to the least value of ``selu`` so that mean and variance are kept."""
    return _drop("feature_alpha_dropout", input, p, training, inplace)


def _drop_channels(input: Tensor, p: float, training: bool, inplace: bool, is_batched: bool) -> Tensor:
    found = _drop("feature_dropout", input if is_batched else input.unsqueeze(0), p, training, inplace)
    if is_batched:
        return found
    # Writes to a view are in the input.
    return input if inplace else found.squeeze(0)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set whole channels of ``(N, C, L)`` or ``(C, L)`` to zero with probability ``p`` while training."""
    check_tensor(input, "dropout1d")
    _check("dropout1d", input, p)
    if input.ndim not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input. Note that dropout1d exists to provide "
            "channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional batch dimension "
            "(i.e. 2D or 3D inputs)."
        )
    return _drop_channels(input, p, training, inplace, input.ndim == 3)


def _warn_of_rank(name: str, rank: int, spatial: int) -> None:
    warnings.warn(
        f"{name}: Received a {rank}-D input to {name}, which is deprecated and will result in an error in a future release. "
        "To retain the behavior and silence this warning, please use dropout instead. Note that "
        f"{name} exists to provide channel-wise dropout on inputs with {spatial} spatial dimensions, a channel dimension, "
        f"and an optional batch dimension (i.e. {spatial + 1}D or {spatial + 2}D inputs).",
        stacklevel=3,
    )


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set whole channels of ``(N, C, H, W)`` to zero with probability ``p`` while training."""
    check_tensor(input, "dropout2d")
    _check("dropout2d", input, p)
    if input.ndim not in (3, 4):
        _warn_of_rank("dropout2d", input.ndim, 2)
    if input.ndim == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired - "
            "input is interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a future "
            "release to interpret the input as one without a batch dimension, i.e. shape (C, H, W). To maintain the 1D "
            "channel-wise dropout behavior, please switch to using dropout1d instead.",
            stacklevel=2,
        )
    return _drop_channels(input, p, training, inplace, True)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set whole channels of ``(N, C, D, H, W)`` or ``(C, D, H, W)`` to zero with probability ``p`` while training."""
    check_tensor(input, "dropout3d")
    _check("dropout3d", input, p)
    if input.ndim not in (4, 5):
        _warn_of_rank("dropout3d", input.ndim, 3)
    return _drop_channels(input, p, training, inplace, input.ndim == 5)
