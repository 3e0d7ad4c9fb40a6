"""The gradients of attention as one operator, and theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, aten, cast, numel, widen
from dispatch_aten.dtypes import bool_

from . import fused

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["differentiate_attention", "efficient_attention_gradient"]


def efficient_attention_gradient(
    grad: Array,
    query: Array,
    key: Array,
    value: Array,
    attn_bias: Array | None,
    results: Sequence[Array],
    dropout_p: float,
    grad_input_mask: Sequence[bool],
    is_causal: bool,
    scale: float | None,
) -> list[Array | None]:
    """Return the gradients of ``query``, ``key`` and ``value``; ``results`` are those of the operator."""
    mask = aten.new_empty.default(query, (0,), dtype=bool_) if attn_bias is None else attn_bias
    found = aten._scaled_dot_product_efficient_attention_backward.default(
        grad, query, key, value, mask, *results, dropout_p, [*grad_input_mask, False], is_causal, scale=scale
    )
    return [each if asked else None for each, asked in zip(found, grad_input_mask, strict=False)]


_PLACES: Final = {"grad_out_": 0, "query": 1, "key": 2, "value": 3}


def differentiate_attention(
    wanted: str,
    grads: Sequence[Any],
    grad_out_: Array,  # torch's name
    query: Array,
    key: Array,
    value: Array,
    attn_bias: Array,
    philox_seed: Array,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
) -> Any:
    """Return the gradient that the gradient of attention sends to one of its arguments.

    ``grads`` are the gradients of its results. What the operator saves of each row counts as a function of the others.
    """
    call = fused.score(query, key, value, fused.mask_of(attn_bias), is_causal, scale)
    heads = dc.shape(query)[1]
    grad = widen(grad_out_)
    groups = heads // dc.shape(key)[1]
    to_query, to_key, to_value = (None if each is None or not numel(each) else widen(each) for each in grads[:3])
    to_key, to_value = (None if each is None else fused.spread(each, groups) for each in (to_key, to_value))
    sums = aten.logsumexp.default(call.scores, [-1])
    lowest = aten.eq.Scalar(sums, float("-inf"))
    slopes = fused.differentiate_weights(
        call, grad, aten.masked_fill.Scalar(sums, lowest, float("inf")), philox_seed, dropout_p
    )
    # Of the sum of the results times their gradients: the gradients by the scores' gradient, the weights, the scores.
    parts = [
        *([] if to_query is None else [aten.matmul.default(to_query, fused.transpose(call.key))]),
        *([] if to_key is None else [aten.matmul.default(call.query, fused.transpose(to_key))]),
    ]
    turn = aten.mul.Scalar(_add(parts), call.scale) if parts else None
    by_grad, by_weights = None, []
    if turn is not None:
        along = fused.sum_rows(aten.mul.Tensor(slopes.weights, turn))
        by_grad = fused.keep(aten.mul.Tensor(slopes.weights, aten.sub.Tensor(turn, along)), philox_seed, dropout_p)
        mean = fused.sum_rows(aten.mul.Tensor(slopes.weights, slopes.by_weights))
        bent = aten.mul.Tensor(turn, aten.sub.Tensor(slopes.by_weights, mean))
        by_weights.append(aten.sub.Tensor(bent, aten.mul.Tensor(slopes.by_weights, along)))
    if to_value is not None:
        product = aten.matmul.default(grad, fused.transpose(to_value))
        by_weights.append(fused.keep(product, philox_seed, dropout_p))
    if not by_weights:
        return None
    found: list[Any] = []
    if wanted == "grad_out_":
        if by_grad is not None:
            found.append(aten.matmul.default(by_grad, call.value))
        if to_value is not None:
            found.append(aten.matmul.default(slopes.kept, to_value))
    elif wanted == "value":
        if by_grad is not None:
            found.append(aten.matmul.default(fused.transpose(by_grad), grad))
    else:
        total = _add(by_weights)
        centered = aten.sub.Tensor(total, fused.sum_rows(aten.mul.Tensor(slopes.weights, total)))
        by_scores = aten.mul.Scalar(aten.mul.Tensor(slopes.weights, centered), call.scale)
        if wanted == "query":
            found.append(aten.matmul.default(by_scores, call.key))
            if to_key is not None:
                found.append(aten.matmul.default(slopes.scores, to_key))
        else:
            found.append(aten.matmul.default(fused.transpose(by_scores), call.query))
            if to_query is not None:
                found.append(aten.matmul.default(fused.transpose(slopes.scores), to_query))
    if not found:
        return None
    like = (grad_out_, query, key, value)[_PLACES[wanted]]
    return cast(fused.gather(_add(found), dc.shape(like)[1]), dc.dtype(like))


def _add(parts: Sequence[Array]) -> Array:
    first, *others = parts
    for each in others:
        first = aten.add.Tensor(first, each)
    return first
