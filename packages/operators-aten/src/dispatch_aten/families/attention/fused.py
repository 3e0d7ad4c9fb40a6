"""Attention as one operator, with a gradient of its own: for devices that have a function for it.

Note [The results of fused attention]
    The operator has torch's name and arguments, of which it takes truth values as ``attn_bias`` alone. Its results are four:

    * attention, which lies in memory as the query does;
    * ``log_sumexp``: for each row the logarithm of the sum of its scores' exponentials, in ``float32`` at least, or no
      elements where it is not asked for. It is infinite for a row whose scores are all left out: its weights are zeros;
    * ``philox_seed``: what tells dropout's draw to the gradient: here the truth values of the weights that it keeps, and no
      elements where nothing is dropped. A device may keep them in another form until a program reads them;
    * ``philox_offset``: no elements.

    Gradients that are not asked for have no elements, as that of ``attn_bias``.

    Heads of keys and values may be fewer than those of queries by a whole factor. Then each of them serves several.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import dispatch_core as dc
from dispatch_aten.decompositions._layout import lay_out
from dispatch_aten.decompositions._shared import Array, aten, cast, has_kernel, meta_of, widen
from dispatch_aten.dtypes import bfloat16, bool_, float16, float32
from dispatch_aten.shapes import RULES

if TYPE_CHECKING:
    from collections.abc import Sequence

NAME: Final = "_scaled_dot_product_efficient_attention"
_TAKEN: Final = (float16, bfloat16, float32)
_INFINITY: Final = float("inf")


def takes_fused(
    query: Array, key: Array, value: Array, attn_mask: Array | None, dropout_p: float, is_causal: bool, gqa: bool
) -> bool:
    """Return whether a call of attention goes to the device's own kernel, where it has one."""
    if not has_kernel(f"aten::{NAME}", query) or dc.dtype(query) not in _TAKEN or not 0 <= dropout_p < 1:
        return False
    shapes = dc.shape(query), dc.shape(key), dc.shape(value)
    if any(len(shape) != 4 or 0 in shape for shape in shapes):
        return False
    (batch, heads, rows, width), (*_, shared, columns, _), _ = shapes
    if shapes[1] != shapes[2] or (shapes[1][0], shapes[1][3]) != (batch, width):
        return False
    if heads != shared and (not gqa or heads % shared):
        return False
    if attn_mask is None:
        return True
    shape, full = dc.shape(attn_mask), (batch, heads, rows, columns)
    return (
        not is_causal
        and dc.dtype(attn_mask) == bool_
        and len(shape) <= 4
        and all(size in (1, wanted) for size, wanted in zip(reversed(shape), reversed(full), strict=False))
    )


class Scores(NamedTuple):
    """A call's operands in a type to compute in, with a head of keys and values for each of queries, and its scores."""

    query: Array
    key: Array
    value: Array
    #: The factor of the products.
    scale: float
    #: Minus infinity where they are left out.
    scores: Array


def score(
    query: Array, key: Array, value: Array, attn_bias: Array | None, is_causal: bool, scale: float | None
) -> Scores:
    """Return the scores of a call."""
    factor = 1.0 / math.sqrt(dc.shape(query)[-1] or 1) if scale is None else scale
    groups = dc.shape(query)[1] // (dc.shape(key)[1] or 1)
    query, key, value = widen(query), *(spread(widen(each), groups) for each in (key, value))
    scores = aten.mul.Scalar(aten.matmul.default(query, transpose(key)), factor)
    if is_causal:
        ones = aten.new_ones.default(scores, dc.shape(scores)[-2:], dtype=bool_)
        scores = aten.masked_fill.Scalar(scores, aten.triu.default(ones, 1), -_INFINITY)
    if attn_bias is not None:
        scores = aten.masked_fill.Scalar(scores, aten.logical_not.default(attn_bias), -_INFINITY)
    return Scores(query, key, value, factor, scores)


def transpose(self: Array) -> Array:
    """Return a tensor with its last two dimensions the other way round."""
    return aten.transpose.int(self, -2, -1)


def spread(self: Array, groups: int) -> Array:
    """Return every head ``groups`` times."""
    if groups == 1:
        return self
    batch, heads, rows, width = dc.shape(self)
    spread = aten.expand.default(aten.unsqueeze.default(self, 2), (batch, heads, groups, rows, width))
    return aten.reshape.default(spread, (batch, heads * groups, rows, width))


def gather(self: Array, heads: int) -> Array:
    """Return the sums over the heads that share one."""
    batch, count, rows, width = dc.shape(self)
    if count == heads:
        return self
    return aten.sum.dim_IntList(aten.reshape.default(self, (batch, heads, count // heads, rows, width)), [2])


def keep(self: Array, kept: Array | None, dropout_p: float) -> Array:
    """Return weights, or their gradients, after dropout."""
    if kept is None or not dropout_p:
        return self
    return aten.native_dropout_backward.default(self, kept, 0.0 if dropout_p == 1 else 1.0 / (1.0 - dropout_p))


def _fused_attention(
    query: Array,
    key: Array,
    value: Array,
    attn_bias: Array | None,
    compute_log_sumexp: bool,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
) -> tuple[Array, Array, Array, Array]:
    metas = [None if each is None else meta_of(each) for each in (query, key, value, attn_bias)]
    specs = RULES[NAME](*metas, compute_log_sumexp, dropout_p, is_causal, scale=scale)
    call = score(query, key, value, attn_bias, is_causal, scale)
    sums = aten.logsumexp.default(call.scores, [-1], True)
    if attn_bias is not None:
        sums = aten.masked_fill.Scalar(sums, aten.eq.Scalar(sums, -_INFINITY), _INFINITY)
    weights = aten.exp.default(aten.sub.Tensor(call.scores, sums))
    kept = aten.new_empty.default(query, (0,), dtype=bool_)
    if dropout_p:
        weights, kept = aten.native_dropout.default(weights, dropout_p, True)
    found = cast(aten.matmul.default(weights, call.value), dc.dtype(query))
    rows = aten.squeeze.dim(sums, -1) if compute_log_sumexp else aten.new_empty.default(sums, (0,))
    return lay_out(found, specs[0]), lay_out(rows, specs[1]), kept, aten.new_empty.default(kept, (0,))


def _fused_attention_backward(
    grad_out_: Array,  # torch's name
    query: Array,
    key: Array,
    value: Array,
    attn_bias: Array,
    out: Array,
    logsumexp: Array,
    philox_seed: Array,
    philox_offset: Array,
    dropout_p: float,
    grad_input_mask: Sequence[bool],
    is_causal: bool = False,
    *,
    scale: float | None = None,
) -> tuple[Array, ...]:
    arrays = grad_out_, query, key, value, attn_bias, out, logsumexp, philox_seed, philox_offset
    specs = RULES[f"{NAME}_backward"](*map(meta_of, arrays), dropout_p, grad_input_mask, is_causal, scale=scale)
    call = score(query, key, value, mask_of(attn_bias), is_causal, scale)
    wide = widen(grad_out_)
    slope = differentiate_weights(call, wide, logsumexp, philox_seed, dropout_p)
    products = (slope.scores, call.key), (transpose(slope.scores), call.query), (transpose(slope.kept), wide)
    none = aten.new_empty.default(query, (0,))
    found = []
    for (left, right), array, spec, asked in zip(products, (query, key, value), specs, grad_input_mask, strict=False):
        grad = gather(aten.matmul.default(left, right), dc.shape(array)[1]) if asked else none
        found.append(lay_out(cast(grad, dc.dtype(array)), spec))
    return (*found, none)


class Slopes(NamedTuple):
    """The gradients of a call's weights and scores, and what they are made of."""

    #: The weights before dropout, and after it.
    weights: Array
    kept: Array
    #: The gradient by the weights.
    by_weights: Array
    #: The gradient by the products of queries and keys.
    scores: Array


def differentiate_weights(call: Scores, grad: Array, logsumexp: Array, kept: Array, dropout_p: float) -> Slopes:
    """Return the gradients of weights and scores, by the gradient of attention."""
    weights = aten.exp.default(aten.sub.Tensor(call.scores, aten.unsqueeze.default(logsumexp, -1)))
    by_weights = keep(aten.matmul.default(grad, transpose(call.value)), kept, dropout_p)
    centered = aten.sub.Tensor(by_weights, sum_rows(aten.mul.Tensor(by_weights, weights)))
    scores = aten.mul.Scalar(aten.mul.Tensor(weights, centered), call.scale)
    return Slopes(weights, keep(weights, kept, dropout_p), by_weights, scores)


def sum_rows(self: Array) -> Array:
    """Return the sum of each row, as a row of one."""
    return aten.sum.dim_IntList(self, [-1], True)


def mask_of(attn_bias: Any) -> Any:
    """Return a mask, None for one without elements, by which the gradient's operator is told that there is none."""
    return None if dc.shape(attn_bias) == (0,) else attn_bias
