"""Normalizations."""

from __future__ import annotations

import math
from collections.abc import Sequence

import dispatch_core as dc

from ...functions.operator_functions import FUNCTIONS
from ...names.spelling import spell
from ...tensors.arguments import check_tensor
from ...tensors.tensor import Tensor


def _check_batch_size(size: Sequence[int]) -> None:
    if size[0] * math.prod(size[2:]) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {_format_size(size)}")


def _format_size(size: Sequence[int]) -> str:
    return f"{spell()}.Size({list(size)})"


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Bring each channel of ``(N, C, ...)`` to mean 0 and variance 1, the batch's while training and the running ones else.

    Training moves the running mean and variance, where they are given, towards the batch's.

    >>> import torchlike
    >>> batch_norm(torchlike.tensor([[1.], [3.]]), None, None, training=True)
    tensor([[-1.0000],
            [ 1.0000]])
    """
    if training:
        _check_batch_size(dc.shape(input))
    if eps < 0 or (training and eps == 0):
        wanted = "positive during training" if training else "non-negative"
        raise ValueError(f"batch_norm eps must be {wanted}, but got {eps}")
    return FUNCTIONS["batch_norm"](input, weight, bias, running_mean, running_var, training, momentum, eps, True)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Bring each channel of each sample of ``(N, C, ...)`` to mean 0 and variance 1."""
    size = dc.shape(input)
    if use_input_stats and math.prod(size[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {_format_size(size)}")
    return FUNCTIONS["instance_norm"](
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True
    )


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Bring the last dimensions, those of ``normalized_shape``, to mean 0 and variance 1."""
    return FUNCTIONS["layer_norm"](input, normalized_shape, weight, bias, eps)


def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Divide the last dimensions, those of ``normalized_shape``, by the root of their mean square."""
    return FUNCTIONS["rms_norm"](input, normalized_shape, weight, eps)


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Bring each group of channels of each sample of ``(N, C, ...)`` to mean 0 and variance 1."""
    size = dc.shape(input)
    if len(size) < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {len(size)}")
    if num_groups < 1:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    _check_batch_size([size[0] * size[1] // num_groups, num_groups, *size[2:]])
    return FUNCTIONS["group_norm"](input, num_groups, weight, bias, eps)


def sum_over_neighbours(squares: Tensor, before: int, after: int) -> Tensor:
    """Return for each channel of ``(N, C, ...)`` the sum over itself and so many channels before and after it."""
    channels = squares.shape[1]
    shape = list(squares.shape)

    def zeros(count: int) -> Tensor:
        return FUNCTIONS["zeros_like"](squares).narrow(1, 0, 1).expand(shape[0], count, *shape[2:])

    padded = FUNCTIONS["cat"]([*([zeros(before)] if before else []), squares, *([zeros(after)] if after else [])], 1)
    total = padded.narrow(1, 0, channels)
    for shift in range(1, before + after + 1):
        total = total + padded.narrow(1, shift, channels)
    return total


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Divide by a power of the mean square of ``size`` neighbouring channels (Krizhevsky et al., 2012)."""
    check_tensor(input, "local_response_norm")
    if input.ndim < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality                          input (got {input.ndim} dimensions)"
        )
    if input.numel() == 0:
        return input
    mean = sum_over_neighbours(input.mul(input), size // 2, (size - 1) // 2) / size
    return input / mean.mul(alpha).add(k).pow(beta)
