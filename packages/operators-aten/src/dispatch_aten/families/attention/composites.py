"""Attention, embeddings and their bags in terms of simpler operators."""

from __future__ import annotations

import math
from typing import Final

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, aten, cast, ndim, numel
from dispatch_aten.dtypes import ScalarType, bool_, float32
from dispatch_aten.errors import OperatorError

from .fused import takes_fused

_MINUS_INFINITY: Final = float("-inf")
_ATTENTION: Final = "aten::scaled_dot_product_attention"


def _safe_softmax(self: Array, dim: int, dtype: ScalarType | None = None) -> Array:
    self = self if dtype is None else cast(self, dtype)
    found = aten._softmax.default(self, dim, False)
    if not numel(self):
        return found
    masked = aten.eq.Scalar(aten.amax.default(self, [dim], True), _MINUS_INFINITY)
    return aten.masked_fill.Scalar(found, masked, 0)


def _check_attention(query: Array, key: Array, value: Array, attn_mask: Array | None) -> None:
    """Refuse arguments in torch's words (source: ``validate_sdpa_input``)."""
    dtypes = [dc.dtype(each) for each in (query, key, value)]
    if len(set(dtypes)) > 1:
        raise OperatorError(
            f"Expected query, key, and value to have the same dtype, but got query.dtype: {_c_name(dtypes[0])} key.dtype: "
            f"{_c_name(dtypes[1])} and value.dtype: {_c_name(dtypes[2])} instead.",
            operator=_ATTENTION,
            argument="query",
        )
    dims = [ndim(each) for each in (query, key, value)]
    if min(dims) < 2:
        raise OperatorError(
            f"Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: {dims[0]} key.dim: "
            f"{dims[1]} and value.dim: {dims[2]} instead.",
            operator=_ATTENTION,
            argument="query",
        )
    if attn_mask is not None and dc.dtype(attn_mask) not in (bool_, float32, dtypes[0]):
        raise OperatorError(
            f"Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{_c_name(dc.dtype(attn_mask))} and  query.dtype: {_c_name(dtypes[0])} instead.",
            operator=_ATTENTION,
            argument="attn_mask",
        )


_C_NAMES: Final = {"Long": "long int", "Half": "c10::Half", "BFloat16": "c10::BFloat16"}


def _c_name(dtype: ScalarType) -> str:
    return _C_NAMES.get(dtype.name, dtype.name.lower())


def _repeat_heads(self: Array, times: int) -> Array:
    """Return every head as often as there are heads of the query for it."""
    shape = dc.shape(self)
    spread = aten.expand.default(aten.unsqueeze.default(self, -3), (*shape[:-2], times, *shape[-2:]))
    return aten.reshape.default(spread, (*shape[:-3], shape[-3] * times, *shape[-2:]))


def _layout_as(self: Array, like: Array) -> Array:
    """Return the same elements in memory in the order of the dimensions of ``like``, if its last one lies together."""
    strides, shape = dc.strides(like), dc.shape(like)
    if strides[-1] != 1:
        return self
    order = sorted(range(len(strides)), key=lambda dim: (-strides[dim], shape[dim] == 1, dim))
    if order == list(range(len(order))):
        return self
    back = [order.index(dim) for dim in range(len(order))]
    return aten.permute.default(aten.contiguous.default(aten.permute.default(self, order)), back)


def _attention(
    query: Array,
    key: Array,
    value: Array,
    attn_mask: Array | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Array:
    _check_attention(query, key, value, attn_mask)
    # See Note [The results of fused attention] in `fused`.
    if takes_fused(query, key, value, attn_mask, dropout_p, is_causal, enable_gqa):
        results: tuple[Array, ...] = aten._scaled_dot_product_efficient_attention.default(
            query, key, value, attn_mask, True, dropout_p, is_causal, scale=scale
        )
        return results[0]
    # torch computes the usual case in one pass, whose result lies in memory as the query does.
    fused = (
        not dropout_p
        and {ndim(each) for each in (query, key, value)} == {4}
        and dc.shape(query)[-1] == dc.shape(value)[-1]
        and 0 not in dc.shape(key)
        and 0 not in dc.shape(query)
    )
    options = {"both_masks": fused, "keeps_weights": False}
    found, _ = _attend(query, key, value, attn_mask, dropout_p, is_causal, None, scale, enable_gqa, **options)
    return _layout_as(found, query) if fused else found


def _attend(
    query: Array,
    key: Array,
    value: Array,
    attn_mask: Array | None,
    dropout_p: float,
    is_causal: bool,
    dropout_mask: Array | None,
    scale: float | None,
    enable_gqa: bool,
    *,
    both_masks: bool = False,
    keeps_weights: bool = True,
) -> tuple[Array, Array]:
    """Return the attended values and the weights that they were added up with."""
    if is_causal and attn_mask is not None and not both_masks:
        raise OperatorError(
            "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True",
            operator=_ATTENTION,
            argument="attn_mask",
        )
    dtype = dc.dtype(query)
    if dtype.is_floating_point and dtype.itemsize < float32.itemsize:
        query, key, value = (cast(each, float32) for each in (query, key, value))
        if attn_mask is not None and dc.dtype(attn_mask) != bool_:
            attn_mask = cast(attn_mask, float32)
    if enable_gqa:
        key, value = _match_heads(query, key), _match_heads(query, value)
    factor = 1.0 / math.sqrt(dc.shape(query)[-1] or 1) if scale is None else scale
    shapes = dc.shape(query), dc.shape(key), dc.shape(value)
    lead = shapes[0][:-2]
    # Heads are one long batch where nothing is to be broadcast.
    is_flat = len(lead) > 1 and attn_mask is None and dropout_mask is None and all(each[:-2] == lead for each in shapes)
    if is_flat:
        query, key, value = (
            aten.reshape.default(each, (math.prod(lead), *shape[-2:]))
            for each, shape in zip((query, key, value), shapes, strict=True)
        )
    scores = aten.matmul.default(aten.mul.Scalar(query, factor), aten.transpose.int(key, -2, -1))
    if is_causal:
        ones = aten.new_ones.default(scores, dc.shape(scores)[-2:], dtype=bool_)
        scores = aten.masked_fill.Scalar(scores, aten.triu.default(ones, 1), _MINUS_INFINITY)
    if attn_mask is None:
        weights = aten.softmax.int(scores, -1)
    else:
        if dc.dtype(attn_mask) == bool_:
            hidden = aten.logical_not.default(attn_mask)
            wide = aten.broadcast_tensors.default([scores, hidden])[0]
            scores = aten.masked_fill.Scalar(wide, hidden, _MINUS_INFINITY)
        else:
            scores = aten.add.Tensor(scores, attn_mask)
        weights = aten._safe_softmax.default(scores, -1)
    if dropout_p or dropout_mask is not None:
        weights = _drop(weights, dropout_p, dropout_mask)
    found = aten.matmul.default(weights, value)
    if is_flat:
        found = aten.reshape.default(found, (*lead, *dc.shape(found)[-2:]))
        weights = aten.reshape.default(weights, (*lead, *dc.shape(weights)[-2:])) if keeps_weights else weights
    return cast(found, dtype), cast(weights, dtype)


def _match_heads(query: Array, other: Array) -> Array:
    heads, wanted = dc.shape(other)[-3] if ndim(other) > 2 else 1, dc.shape(query)[-3] if ndim(query) > 2 else 1
    if not heads or wanted % heads:
        raise OperatorError(
            "Number of heads in key and value must divide the number of heads in query",
            operator=_ATTENTION,
            argument="key",
        )
    return other if heads == wanted else _repeat_heads(other, wanted // heads)


def _drop(weights: Array, p: float, mask: Array | None) -> Array:
    """Drop weights at random, or, for tests of other kernels, those that ``mask`` does not keep."""
    if mask is None:
        return aten.dropout.default(weights, p, True)
    kept = aten.masked_fill.Scalar(weights, aten.logical_not.default(mask), 0)
    return aten.mul.Scalar(kept, 1.0 / (1.0 - p))
