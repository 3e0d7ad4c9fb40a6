"""Convolutions, and the columns of their windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dispatch_core as dc

from ...functions.operator_functions import FUNCTIONS
from ...tensors.arguments import check_tensor
from ...tensors.tensor import Tensor

conv1d, conv2d, conv3d = (FUNCTIONS[f"conv{count}d"] for count in (1, 2, 3))
conv_transpose1d, conv_transpose2d, conv_transpose3d = (FUNCTIONS[f"conv_transpose{count}d"] for count in (1, 2, 3))
conv_tbc = FUNCTIONS["conv_tbc"]


def _two(value: Any) -> Any:
    return (value, value) if isinstance(value, int) else value


def unfold(
    input: Tensor,
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Tensor:
    """Return the windows of a batch of images as columns, ``(N, C * window, places)``.

    >>> import torchlike
    >>> unfold(torchlike.ones(1, 2, 4, 4), 3).shape
    torchlike.Size([1, 18, 4])
    """
    check_tensor(input, "unfold")
    return dc.ops.aten.im2col(input, *map(_two, (kernel_size, dilation, padding, stride)))


def fold(
    input: Tensor,
    output_size: int | Sequence[int],
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Tensor:
    """Add columns, ``(N, C * window, places)``, to the images whose windows they are."""
    check_tensor(input, "fold")
    return dc.ops.aten.col2im(input, *map(_two, (output_size, kernel_size, dilation, padding, stride)))
