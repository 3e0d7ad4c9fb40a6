"""Convolutions: a batch of inputs is more samples, a batch of weights more groups or more channels of the result.

A convolution with groups computes each group by itself. With a weight for each row, the inputs of all rows become groups
of channels of one input. Where the inputs are shared, the weights of all rows are more channels of the result, group
by group.
"""

from __future__ import annotations

from typing import Any, Final

from .calls import Batch, BatchedCall, Rule, aten, with_batch
from .empty_batches import run_on_a_row


def _merge(tensor: Any, dim: int) -> Any:
    """Return a tensor with the batch merged into a logical dimension, before its elements."""
    shape = list(tensor.shape)
    moved = aten.permute.default(tensor, (*range(1, dim + 1), 0, *range(dim + 1, len(shape))))
    size, *logical = shape
    logical[dim] *= size
    return aten.reshape.default(moved, logical)


def _split(tensor: Any, dim: int, outer: int, size: int) -> Any:
    """Return a tensor with the batch in front, which a dimension has after ``outer`` groups."""
    shape = list(tensor.shape)
    inner = shape[dim] // (outer * size)
    parted = aten.reshape.default(tensor, (*shape[:dim], outer, size, inner, *shape[dim + 1 :]))
    moved = aten.permute.default(parted, (dim + 1, *range(dim + 1), *range(dim + 2, len(shape) + 2)))
    return aten.reshape.default(moved, (size, *shape[:dim], outer * inner, *shape[dim + 1 :]))


def _convolve(call: BatchedCall) -> Any:
    own, weight, bias, size, groups = call["input"], call["weight"], call["bias"], call.size, call["groups"]
    if type(weight) is not Batch:
        plain = None if type(bias) is Batch else bias
        if type(own) is Batch:
            found = call.run(input=_merge(own.tensor, 0), bias=plain)
            found = aten.reshape.default(found, (size, -1, *found.shape[1:]))
        else:
            found = with_batch(call.run(bias=None), size)
            plain = None
        return found if plain is bias else _add_bias(found, bias)
    out = 1 if call["transposed"] else 0  # the weight's dimension of the result's channels
    if type(own) is Batch:
        found = call.run(input=_merge(own.tensor, 1), weight=_merge(weight.tensor, 0), bias=None, groups=groups * size)
        found = _split(found, 1, 1, size)
    elif out or groups == 1:
        found = call.run(weight=_merge(weight.tensor, out), bias=None)
        found = _split(found, 1, groups, size)
    else:
        found = call.run(weight=_merge_in_groups(weight.tensor, groups), bias=None)
        found = _split(found, 1, groups, size)
    return found if bias is None else _add_bias(found, bias)


def _merge_in_groups(weight: Any, groups: int) -> Any:
    """Return weights with the channels of all rows' results, those of a group next to each other."""
    size, channels, *rest = weight.shape
    parted = aten.reshape.default(weight, (size, groups, channels // groups, *rest))
    moved = aten.transpose.int(parted, 0, 1)
    return aten.reshape.default(moved, (size * channels, *rest))


def _add_bias(found: Any, bias: Any) -> Any:
    rank = len(found.shape) - 1
    tensor = bias.tensor if type(bias) is Batch else bias
    shape = [*tensor.shape[:-1], *([1] if type(bias) is Batch else []), tensor.shape[-1], *[1] * (rank - 2)]
    return aten.add.Tensor(found, aten.view.default(tensor, shape))


def _convolve_backward(call: BatchedCall) -> Any:
    grad, own, weight = (call.with_batch(name) for name in ("grad_output", "input", "weight"))
    wants_input, wants_weight, wants_bias = call["output_mask"]
    size, groups = call.size, call["groups"]
    found: list[Any] = [None, None, None]
    if wants_bias:
        found[2] = aten.sum.dim_IntList(grad, [1, *range(3, len(grad.shape))])
    if wants_input and not call.is_batched("weight"):
        made = _backward(call, _merge(grad, 0), _merge(own, 0), call["weight"], groups, [True, False])[0]
        found[0] = aten.view.default(made, own.shape)
        wants_input = False
    if wants_input or wants_weight:
        made = _backward(
            call, _merge(grad, 1), _merge(own, 1), _merge(weight, 0), groups * size, [wants_input, wants_weight]
        )
        if wants_input:
            found[0] = _split(made[0], 1, 1, size)
        if wants_weight:
            found[1] = aten.view.default(made[1], weight.shape)
    return tuple(found)


def _backward(call: BatchedCall, grad: Any, own: Any, weight: Any, groups: int, mask: list[bool]) -> Any:
    changed = {"grad_output": grad, "input": own, "weight": weight, "groups": groups, "output_mask": [*mask, False]}
    return call.run(**changed, bias_sizes=None)


RULES: Final[dict[str, Rule]] = {
    "convolution": run_on_a_row(_convolve),
    "_convolution": run_on_a_row(_convolve),
    "convolution_backward": run_on_a_row(_convolve_backward),
}
