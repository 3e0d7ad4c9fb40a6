"""Shape rules of attention, embeddings and their bags."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatch_aten.dtypes import bool_, float32, float64
from dispatch_aten.errors import DtypeError, OperatorError, ShapeError
from dispatch_aten.shapes.layout import preserve_format
from dispatch_aten.shapes.meta import TensorMeta, contiguous, dense_strides
from dispatch_aten.shapes.own_rules import OWN_RULES
from dispatch_aten.shapes.refusals import c_name

if TYPE_CHECKING:
    from collections.abc import Sequence


def _embedding_renorm(self: TensorMeta, indices: TensorMeta, max_norm: float, norm_type: float) -> TensorMeta:
    if self.ndim != 2:
        raise ShapeError("'self' must be 2-D", argument="self")
    OWN_RULES["embedding"](self, indices)
    if not (self.dtype.is_floating_point or self.dtype.is_complex):
        raise DtypeError(
            f"norm(): input dtype should be either floating point or complex. Got {c_name(self.dtype)} instead.",
            argument="self",
        )
    return preserve_format(self)


def _lie_as(like: TensorMeta, width: int) -> TensorMeta:
    """Describe fresh rows of another width in the order of the dimensions of ``like``, if its last one lies together."""
    shape = (*like.shape[:-1], width)
    order = list(range(len(shape)))
    if like.strides[-1] == 1:
        order.sort(key=lambda dim: (-like.strides[dim], like.shape[dim] == 1, dim))
    return TensorMeta(shape, dense_strides(shape, reversed(order)), like.dtype)


def _check_heads(query: TensorMeta, key: TensorMeta, value: TensorMeta, attn_bias: TensorMeta | None, p: float) -> None:
    """Refuse operands that do not fit each other."""
    for name, each in (("query", query), ("key", key), ("value", value)):
        if each.ndim != 4:
            raise ShapeError(f"'{name}' must be 4-D (batch, heads, rows, width)", argument=name)
        if each.dtype != query.dtype or not each.dtype.is_floating_point:
            raise DtypeError("query, key and value must be of one floating dtype", argument=name)
    batch, heads, rows, width = query.shape
    shared, columns = key.shape[1:3]
    if (key.shape[0], key.shape[3]) != (batch, width) or value.shape[:3] != key.shape[:3]:
        raise ShapeError(f"key {key.shape} and value {value.shape} do not fit query {query.shape}", argument="key")
    if not shared or heads % shared:
        raise ShapeError("Number of heads in key and value must divide the number of heads in query", argument="key")
    if attn_bias is not None:
        full = (batch, heads, rows, columns)
        if attn_bias.dtype != bool_:
            raise DtypeError("'attn_bias' must be of bool", argument="attn_bias")
        if attn_bias.ndim > 4 or any(
            size not in (1, wanted) for size, wanted in zip(reversed(attn_bias.shape), reversed(full), strict=False)
        ):
            raise ShapeError(f"'attn_bias' {attn_bias.shape} does not fit {full}", argument="attn_bias")
    if not 0 <= p <= 1:
        raise OperatorError(f"dropout probability has to be between 0 and 1, but got {p}", argument="dropout_p")


def _fused_attention(
    query: TensorMeta,
    key: TensorMeta,
    value: TensorMeta,
    attn_bias: TensorMeta | None,
    compute_log_sumexp: bool,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
) -> tuple[TensorMeta, ...]:
    _check_heads(query, key, value, attn_bias, dropout_p)
    rows = query.shape[:3]
    return (
        _lie_as(query, value.shape[3]),
        contiguous(rows if compute_log_sumexp else (0,), float64 if query.dtype is float64 else float32),
        contiguous((*rows, key.shape[2]) if dropout_p else (0,), bool_),
        contiguous((0,), bool_),
    )


def _fused_attention_backward(
    grad_out_: TensorMeta,  # torch's name
    query: TensorMeta,
    key: TensorMeta,
    value: TensorMeta,
    attn_bias: TensorMeta,
    out: TensorMeta,
    logsumexp: TensorMeta,
    philox_seed: TensorMeta,
    philox_offset: TensorMeta,
    dropout_p: float,
    grad_input_mask: Sequence[bool],
    is_causal: bool = False,
    *,
    scale: float | None = None,
) -> tuple[TensorMeta, ...]:
    _check_heads(query, key, value, None if attn_bias.shape == (0,) else attn_bias, dropout_p)
    wanted = (*query.shape[:3], value.shape[3])
    for name, each, shape in (
        ("grad_out_", grad_out_, wanted),
        ("out", out, wanted),
        ("logsumexp", logsumexp, wanted[:3]),
    ):
        if each.shape != shape:
            raise ShapeError(f"'{name}' must be of shape {shape}, and is of {each.shape}", argument=name)
    found = [
        _lie_as(each, each.shape[3]) if asked else contiguous((0,), query.dtype)
        for each, asked in zip((query, key, value), grad_input_mask, strict=False)
    ]
    return (*found, contiguous((0,), query.dtype))
