"""Products and losses: ``npu_linear`` and its relatives, and the check of a gradient for overflow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torchlike
from torchlike import Tensor

__all__ = [
    "npu_bmmV2",
    "npu_conv2d",
    "npu_conv3d",
    "npu_linear",
    "npu_max",
    "npu_min",
    "npu_softmax_cross_entropy_with_logits",
    "npu_sort_v2",
]


def npu_linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return ``input @ weight.T + bias`` (source: ``torch_npu``).

    >>> npu_linear(torchlike.ones(1, 2), torchlike.ones(3, 2)).shape
    torchlike.Size([1, 3])
    """
    return torchlike.nn.functional.linear(input, weight, bias)


def npu_bmmV2(self: Tensor, mat2: Tensor, output_sizes: Sequence[int] = ()) -> Tensor:  # noqa: N802
    """Return the product of matrices, in another shape where one is given (source: ``torch_npu``).

    >>> npu_bmmV2(torchlike.ones(2, 1, 3), torchlike.ones(2, 3, 1), []).shape
    torchlike.Size([2, 1, 1])
    """
    product = self @ mat2
    return product.reshape(tuple(output_sizes)) if len(output_sizes) else product


def npu_conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Tensor:
    """Return the convolution (source: ``torch_npu``).

    >>> npu_conv2d(torchlike.ones(1, 1, 2, 2), torchlike.ones(1, 1, 2, 2), None, [1, 1], [0, 0], [1, 1], 1).item()
    4.0
    """
    return torchlike.nn.functional.conv2d(input, weight, bias, stride, padding, dilation, groups)


def npu_conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Tensor:
    """Return the convolution (source: ``torch_npu``).

    >>> ones = torchlike.ones(1, 1, 2, 2, 2)
    >>> npu_conv3d(ones, ones, None, [1, 1, 1], [0, 0, 0], [1, 1, 1], 1).item()
    8.0
    """
    return torchlike.nn.functional.conv3d(input, weight, bias, stride, padding, dilation, groups)


def npu_max(self: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """Return the largest elements of a dimension, and their indices in int32 (source: ``torch_npu``).

    >>> npu_max(torchlike.tensor([1.0, 3.0]), 0)
    (tensor(3.), tensor(1, dtype=torchlike.int32))
    """
    values, indices = self.max(dim, keepdim)
    return values, indices.to(torchlike.int32)


def npu_min(self: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """Return the smallest elements of a dimension, and their indices in int32 (source: ``torch_npu``).

    >>> npu_min(torchlike.tensor([1.0, 3.0]), 0)
    (tensor(1.), tensor(0, dtype=torchlike.int32))
    """
    values, indices = self.min(dim, keepdim)
    return values, indices.to(torchlike.int32)


def npu_sort_v2(self: Tensor, dim: int = -1, descending: bool = False) -> Tensor:
    """Return the sorted elements of a dimension, without their indices (source: ``torch_npu``).

    >>> npu_sort_v2(torchlike.tensor([3.0, 1.0]))
    tensor([1., 3.])
    """
    values: Tensor = self.sort(dim, descending)[0]
    return values


def npu_softmax_cross_entropy_with_logits(self: Tensor, labels: Tensor) -> Tensor:
    """Return the cross entropy of each row with labels that are probabilities (source: ``torch_npu``).

    >>> round(npu_softmax_cross_entropy_with_logits(torchlike.zeros(1, 2), torchlike.tensor([[1.0, 0.0]])).item(), 4)
    0.6931
    """
    return -(labels * torchlike.log_softmax(self, -1)).sum(-1)
