"""Simulated quantization: the rows of a batch have more channels."""

from __future__ import annotations

from math import prod
from typing import Any, Final

from .calls import BatchedCall, Rule, aten, map_results


def _join(elements: list[Any], channels: list[Any], axis: int) -> tuple[list[Any], list[Any], tuple[int, ...]]:
    """Return tensors of elements and of channels whose channels follow the batch, as the first dimension, and the shape."""
    moved = [aten.transpose.int(each, 1, axis + 1) for each in elements]
    return [_flatten(each) for each in moved], [_flatten(each) for each in channels], moved[0].shape


def _flatten(tensor: Any) -> Any:
    """Return a tensor with its first two dimensions as one."""
    return aten.reshape.default(tensor, (tensor.shape[0] * tensor.shape[1], *tensor.shape[2:]))


def _part(found: Any, shape: tuple[int, ...], axis: int) -> Any:
    """Return elements as they were before `_join`."""
    return aten.transpose.int(aten.view.default(found, shape), 1, axis + 1)


def _check_channels(call: BatchedCall, *names: str) -> list[Any]:
    """Return the tensors of a call with the batch in front; refuse shapes that do not fit, in torch's words."""
    axis, shape = call["axis"], call.shape("self")
    found = [call.with_batch(name) for name in names]
    fits = 0 <= axis < len(shape) and call.shape("scale") == call.shape("zero_point") == (shape[axis],)
    if not fits or call.shape(names[0]) != shape:
        call.run(**{name: each[0] for name, each in zip(names, found, strict=True)})
    return found


def _per_channel(call: BatchedCall) -> Any:
    axis = call["axis"]
    own, scale, zero_point = _check_channels(call, "self", "scale", "zero_point")
    if not call.is_batched("scale") and not call.is_batched("zero_point"):
        return call.run(self=own, axis=axis + 1)
    (joined,), (scale, zero_point), moved = _join([own], [scale, zero_point], axis)
    return map_results(
        call.run(self=joined, scale=scale, zero_point=zero_point, axis=0), lambda each: _part(each, moved, axis)
    )


def _learned_per_tensor(call: BatchedCall) -> Any:
    """Run rows of one scale at once; rows that have their own are channels."""
    own = call.with_batch("self")
    if not call.is_batched("scale") and not call.is_batched("zero_point"):
        return call.run(self=own)
    flat, scale, zero_point = _as_channels(call, "self")
    limits = call["quant_min"], call["quant_max"], call["grad_factor"]
    found = aten._fake_quantize_learnable_per_channel_affine.default(flat[0], scale, zero_point, 0, *limits)
    return aten.view.default(found, own.shape)


def _as_channels(call: BatchedCall, *names: str) -> tuple[list[Any], Any, Any]:
    """Return tensors as rows of elements, and their scales and zero points, the first of each row's."""
    rows = [aten.reshape.default(call.with_batch(name), (call.size, prod(call.shape(name)))) for name in names]
    scale, zero_point = (aten.select.int(call.with_batch(name), 1, 0) for name in ("scale", "zero_point"))
    return rows, scale, zero_point


def _learned_per_tensor_gradients(call: BatchedCall) -> Any:
    rows, scale, zero_point = _as_channels(call, "grad", "self")
    low, high = call["quant_min"], call["quant_max"]
    # Halves are rounded up where one scale serves all elements.
    point = aten.trunc.default(aten.clamp.default(aten.add.Scalar(zero_point, 0.5), low, high))
    found, *others = aten._fake_quantize_learnable_per_channel_affine_backward.default(
        *rows, scale, point, 0, low, high, call["grad_factor"]
    )
    return (
        aten.view.default(found, call.with_batch("self").shape),
        *(aten.unsqueeze.default(each, 1) for each in others),
    )


def _learned_per_channel_gradients(call: BatchedCall) -> Any:
    axis = call["axis"]
    grad, own, scale, zero_point = _check_channels(call, "grad", "self", "scale", "zero_point")
    if not call.rank("self"):  # one element each: the batch is the channels
        return call.run(grad=grad, self=own, scale=scale, zero_point=zero_point, axis=0)
    (grad, joined), (scale, zero_point), moved = _join([grad, own], [scale, zero_point], axis)
    found, *others = call.run(grad=grad, self=joined, scale=scale, zero_point=zero_point, axis=0)
    shape = moved[0], moved[1]
    return _part(found, moved, axis), *(aten.view.default(each, shape) for each in others)


RULES: Final[dict[str, Rule]] = {
    "fake_quantize_per_channel_affine_cachemask": _per_channel,
    "_fake_quantize_learnable_per_tensor_affine": _learned_per_tensor,
    "_fake_quantize_learnable_per_tensor_affine_backward": _learned_per_tensor_gradients,
    "_fake_quantize_learnable_per_channel_affine": _per_channel,
    "_fake_quantize_learnable_per_channel_affine_backward": _learned_per_channel_gradients,
}
