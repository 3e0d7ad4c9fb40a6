"""Gradients of convolutions, called by themselves (source: ``torch.nn.grad``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import dispatch_core as dc

from ..tensors.tensor import Tensor

_Sizes: TypeAlias = int | Sequence[int]


def _make(rank: int, *, of_weight: bool) -> Callable[..., Tensor]:
    def function(
        first: Any,
        second: Any,
        grad_output: Tensor,
        stride: _Sizes = 1,
        padding: _Sizes = 0,
        dilation: _Sizes = 1,
        groups: int = 1,
    ) -> Tensor:
        sizes = [[each] * rank if isinstance(each, int) else list(each) for each in (stride, padding, dilation)]
        # Of the one that is not given only the sizes count.
        given = (first, grad_output.new_empty(second)) if of_weight else (grad_output.new_empty(first), second)
        grads = dc.ops.aten.convolution_backward.default(
            grad_output, *given, None, *sizes, False, [0] * rank, groups, [not of_weight, of_weight, False]
        )
        result: Tensor = grads[int(of_weight)]
        return result

    what = "weight" if of_weight else "input"
    function.__name__ = function.__qualname__ = f"conv{rank}d_{what}"
    order = "the input, the weight's sizes" if of_weight else "the input's sizes, the weight"
    function.__doc__ = f"Return the gradient of the {what} of a convolution: takes {order} and the result's gradient."
    return function


conv1d_input, conv2d_input, conv3d_input = [_make(rank, of_weight=False) for rank in (1, 2, 3)]
conv1d_weight, conv2d_weight, conv3d_weight = [_make(rank, of_weight=True) for rank in (1, 2, 3)]
