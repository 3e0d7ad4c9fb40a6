"""Simulated quantization: the rows of a batch have more channels."""

from __future__ import annotations

from typing import Any, Final

from .calls import BatchedCall, Rule, aten


def _per_channel(call: BatchedCall) -> Any:
    axis, tensors = call["axis"], ("self", "scale", "zero_point")
    own, scale, zero_point = (call.with_batch(name) for name in tensors)
    shape = call.shape("self")
    is_valid = 0 <= axis < len(shape) and call.shape("scale") == call.shape("zero_point") == (shape[axis],)
    if not is_valid:
        call.run(self=own[0], scale=scale[0], zero_point=zero_point[0])  # refused, in torch's words
    if not call.is_batched("scale") and not call.is_batched("zero_point"):
        return call.run(self=own, axis=axis + 1)
    # The channels follow the batch, and are one dimension with it.
    moved = aten.transpose.int(own, 1, axis + 1)
    joined, scale, zero_point = (
        aten.reshape.default(each, (each.shape[0] * each.shape[1], *each.shape[2:]))
        for each in (moved, scale, zero_point)
    )
    results = call.run(self=joined, scale=scale, zero_point=zero_point, axis=0)
    return tuple(aten.transpose.int(aten.view.default(each, moved.shape), 1, axis + 1) for each in results)


RULES: Final[dict[str, Rule]] = {"fake_quantize_per_channel_affine_cachemask": _per_channel}
