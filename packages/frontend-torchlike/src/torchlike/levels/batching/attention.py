"""Attention as one operator: the batch is more samples for one call."""

from __future__ import annotations

from typing import Any, Final

from .calls import BatchedCall, Rule, align, aten, map_results, with_batch
from .empty_batches import run_on_a_row

_OF_SAMPLES: Final = ("query", "key", "value", "grad_out_", "out", "logsumexp", "philox_seed")


def _merge(tensor: Any) -> Any:
    """Return a tensor with the batch and the samples as one dimension."""
    shape = tensor.shape
    return aten.reshape.default(tensor, (shape[0] * shape[1], *shape[2:]))


def _merge_mask(call: BatchedCall) -> Any:
    """Return a mask for all samples: one that they share, or one for each of them."""
    mask = call["attn_bias"]
    if mask is None or not call.is_batched("attn_bias"):
        samples = 1 if mask is None or call.rank("attn_bias") < 4 else call.shape("attn_bias")[0]
        return mask if samples == 1 else _merge(with_batch(mask, call.size))
    wide = align(mask, 4)
    return _merge(aten.expand.default(wide, (call.size, call.shape("query")[0], *wide.shape[2:])))


def _attention(call: BatchedCall) -> Any:
    samples = call.shape("query")[0]
    changed: dict[str, Any] = {
        name: _merge(call.with_batch(name)) for name in _OF_SAMPLES if name in call.values and call.shape(name) != (0,)
    }
    for name in ("attn_bias", "philox_seed", "philox_offset"):
        if call.values.get(name) is not None and call.shape(name) == (0,):
            changed[name] = aten.select.int(call.with_batch(name), 0, 0)
    if "attn_bias" not in changed:
        changed["attn_bias"] = _merge_mask(call)

    def split(found: Any) -> Any:
        if found.shape == (0,):
            return aten.expand.default(found, (call.size, 0))
        return aten.view.default(found, (call.size, samples, *found.shape[1:]))

    return map_results(call.run(**changed), split)


RULES: Final[dict[str, Rule]] = {
    "_scaled_dot_product_efficient_attention": run_on_a_row(_attention),
    "_scaled_dot_product_efficient_attention_backward": run_on_a_row(_attention),
}
"""The batching rule of each operator."""
