"""Attention (source: ``torch.nn.functional``)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType

from ...functions.operator_functions import FUNCTIONAL, FUNCTIONS
from ...tensors.arguments import check_tensor
from ...tensors.tensor import Tensor
from .linear_maps import linear

scaled_dot_product_attention = FUNCTIONAL["scaled_dot_product_attention"]
_Maybe = Tensor | None


def _check(condition: bool, text: str | Callable[[], str]) -> None:
    """Raise ``AssertionError`` where a condition does not hold; a function makes the text only then."""
    if not condition:
        raise AssertionError(text if isinstance(text, str) else text())


def _check_dims(query: Tensor, key: Tensor, value: Tensor, padding: _Maybe, attn_mask: _Maybe, num_heads: int) -> bool:
    """Return whether there is a batch; raise ``AssertionError`` for tensors of other numbers of dimensions."""
    dims = query.dim()
    _check(
        dims in (2, 3),
        lambda: f"query should be unbatched 2D or batched 3D tensor but received {dims}-D query tensor",
    )
    who = "For batched (3-D) `query`, expected" if dims == 3 else "For unbatched (2-D) `query`, expected"
    _check(
        key.dim() == value.dim() == dims,
        lambda: (
            f"{who} `key` and `value` to be {dims}-D but found {key.dim()}-D and {value.dim()}-D tensors respectively"
        ),
    )
    if padding is not None:
        _check(
            padding.dim() == dims - 1,
            f"{who} `key_padding_mask` to be `None` or {dims - 1}-D but found {padding.dim()}-D tensor instead",
        )
    if attn_mask is not None:
        _check(
            attn_mask.dim() in (2, 3),
            f"{who} `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.dim()}-D tensor instead",
        )
        if dims == 2 and attn_mask.dim() == 3:
            wanted = (num_heads, query.shape[0], key.shape[0])
            _check(attn_mask.shape == wanted, f"Expected `attn_mask` shape to be {wanted} but got {attn_mask.shape}")
    return dims == 3


def _canonical_mask(
    mask: _Maybe,
    mask_name: str,
    other_type: ScalarType | None,
    other_name: str,
    target_type: ScalarType,
    check_other: bool = True,
) -> _Maybe:
    """Return a mask as numbers to add: minus infinity where a mask of bools holds (torch's name; programs call it)."""
    if mask is None:
        return None
    is_float = mask.is_floating_point()
    _check(is_float or mask.dtype == ScalarType.Bool, f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype != other_type:
        warnings.warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.",
            UserWarning,
            stacklevel=3,
        )
    if is_float:
        return mask
    zeros: Tensor = FUNCTIONS["zeros_like"](mask, dtype=target_type)
    return zeros.masked_fill(mask, float("-inf"))


def _project_packed(query: Tensor, key: Tensor, value: Tensor, weight: Tensor, bias: _Maybe) -> tuple[Tensor, ...]:
    """Return query, key and value times their parts of one weight, with as few products as there are tensors."""
    width = query.size(-1)
    if key is value:
        if query is key:
            return tuple(linear(query, weight, bias).split(width, -1))
        ours, theirs = weight.split([width, 2 * width])
        b_ours, b_theirs = (None, None) if bias is None else bias.split([width, 2 * width])
        return linear(query, ours, b_ours), *linear(key, theirs, b_theirs).split(width, -1)
    weights = weight.chunk(3)
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    return tuple(linear(*each) for each in zip((query, key, value), weights, biases, strict=True))


def _project(
    tensors: tuple[Tensor, Tensor, Tensor], weights: tuple[_Maybe, _Maybe, _Maybe], bias: _Maybe
) -> tuple[Tensor, ...]:
    """Return query, key and value times weights of their own."""
    width = tensors[0].size(-1)
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    found = []
    for name, letter, tensor, weight, part in zip(
        ("query", "key", "value"), "qkv", tensors, weights, biases, strict=True
    ):
        if weight is None:
            raise AssertionError(f"use_separate_proj_weight is True but {letter}_proj_weight is None")
        wanted = (width, tensor.size(-1))
        _check(weight.shape == wanted, f"expecting {name} weights shape of {wanted}, but got {weight.shape}")
        found.append(linear(tensor, weight, part))
    return tuple(found)


def _add_column(mask: _Maybe) -> _Maybe:
    """Return a mask for one more key, which takes part."""
    if mask is None:
        return None
    found: Tensor = FUNCTIONS["cat"]([mask, mask.new_zeros((*mask.shape[:-1], 1))], -1)
    return found


def _check_mask_shape(mask: Tensor, batch: int, heads: int, rows: int, columns: int) -> Tensor:
    """Return a mask with a first dimension for the heads of the batch."""
    if mask.dim() not in (2, 3):
        raise RuntimeError(f"attn_mask's dimension {mask.dim()} is not supported")
    wanted = (rows, columns) if mask.dim() == 2 else (batch * heads, rows, columns)
    if mask.shape != wanted:
        raise RuntimeError(f"The shape of the {mask.dim()}D attn_mask is {mask.shape}, but should be {wanted}.")
    return mask.unsqueeze(0) if mask.dim() == 2 else mask


def _split_heads(tensor: Tensor, count: int, width: int) -> Tensor:
    return tensor.reshape(tensor.shape[0], count, width).transpose(0, 1)


def _check_static(name: str, static: Tensor, count: int, width: int) -> Tensor:
    _check(static.size(0) == count, f"expecting {name}.size(0) of {count}, but got {static.size(0)}")
    _check(static.size(2) == width, f"expecting {name}.size(2) of {width}, but got {static.size(2)}")
    return static


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Return attention over several heads, and its weights or None: see ``nn.MultiheadAttention``.

    Shapes: query ``(L, N, E)``, key and value ``(S, N, E)``, or without ``N``.
    """
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        check_tensor(tensor, "multi_head_attention_forward", name)
    for name, given in (
        ("in_proj_weight", in_proj_weight),
        ("bias_k", bias_k),
        ("bias_v", bias_v),
        ("key_padding_mask", key_padding_mask),
        ("attn_mask", attn_mask),
        ("static_k", static_k),
        ("static_v", static_v),
    ):
        if given is not None:
            check_tensor(given, "multi_head_attention_forward", name)
    is_batched = _check_dims(query, key, value, key_padding_mask, attn_mask, num_heads)
    mask_type = None if attn_mask is None else attn_mask.dtype
    if not is_batched:
        same, pair = query is key, key is value
        query = query.unsqueeze(1)
        key = query if same else key.unsqueeze(1)
        value = key if pair else value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, width = query.shape
    columns = key.shape[0]
    key_padding_mask = _canonical_mask(key_padding_mask, "key_padding_mask", mask_type, "attn_mask", query.dtype)
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None
    else:
        attn_mask = _canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, False)
        is_causal = is_causal and key_padding_mask is None
    _check(
        width == embed_dim_to_check,
        lambda: f"was expecting embedding dimension of {embed_dim_to_check}, but got {width}",
    )
    head_width, heads = width // num_heads, batch * num_heads
    _check(head_width * num_heads == width, lambda: f"embed_dim {width} not divisible by num_heads {num_heads}")
    if use_separate_proj_weight:
        _check(
            key.shape[:2] == value.shape[:2],
            f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}",
        )
        q, k, v = _project((query, key, value), (q_proj_weight, k_proj_weight, v_proj_weight), in_proj_bias)
    else:
        _check(key.shape == value.shape, lambda: f"key shape {key.shape} does not match value shape {value.shape}")
        if in_proj_weight is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        q, k, v = _project_packed(query, key, value, in_proj_weight, in_proj_bias)
    if attn_mask is not None:
        attn_mask = _check_mask_shape(attn_mask, batch, num_heads, length, columns)
    _check((bias_k is None) == (bias_v is None), "bias_k and bias_v are set both, or neither")
    if bias_k is not None and bias_v is not None:
        _check(static_k is None, "bias cannot be added to static key.")
        _check(static_v is None, "bias cannot be added to static value.")
        k = FUNCTIONS["cat"]([k, bias_k.repeat(1, batch, 1)])
        v = FUNCTIONS["cat"]([v, bias_v.repeat(1, batch, 1)])
        attn_mask, key_padding_mask = _add_column(attn_mask), _add_column(key_padding_mask)
    # Where the heads of a batch need not be one dimension, they are views of the products.
    is_plain = not (need_weights or add_zero_attn) and bias_k is None and static_k is None and static_v is None
    if is_plain:
        q, k, v = (each.view(each.size(0), batch, num_heads, head_width).permute(1, 2, 0, 3) for each in (q, k, v))
    else:
        q = _split_heads(q, heads, head_width)
        k = (
            _split_heads(k, heads, head_width)
            if static_k is None
            else _check_static("static_k", static_k, heads, head_width)
        )
        v = (
            _split_heads(v, heads, head_width)
            if static_v is None
            else _check_static("static_v", static_v, heads, head_width)
        )
    if add_zero_attn:
        k, v = (FUNCTIONS["cat"]([each, each.new_zeros((heads, 1, head_width))], 1) for each in (k, v))
        attn_mask, key_padding_mask = _add_column(attn_mask), _add_column(key_padding_mask)
    columns = k.size(-2)
    if key_padding_mask is not None:
        for dim, wanted in enumerate((batch, columns)):
            found = key_padding_mask.shape[dim]
            _check(found == wanted, f"Expected key_padded_mask.shape[{dim}] to be {wanted}, but got {found}")
        wide = key_padding_mask.view(batch, 1, 1, columns).expand(-1, num_heads, -1, -1)
        wide = wide.reshape(heads, 1, columns)
        attn_mask = wide if attn_mask is None else attn_mask + wide
    if not training:
        dropout_p = 0.0
    shape = (batch, num_heads, length, columns)
    if need_weights:
        _check(not (is_causal and attn_mask is None), "FIXME: is_causal not implemented for need_weights")
        mixed, weights = _attend_with_weights(q, k, v, attn_mask, dropout_p)
        mixed = mixed.transpose(0, 1).reshape(length * batch, width)
        weights = weights.view(shape)
        weights = weights.mean(1) if average_attn_weights else weights
    else:
        if attn_mask is not None:
            by_head = attn_mask.size(0) != 1
            attn_mask = (
                attn_mask.view(batch, num_heads, attn_mask.size(1), columns) if by_head else attn_mask.unsqueeze(0)
            )
        if not is_plain:
            q, k, v = (each.reshape(batch, num_heads, each.size(1), head_width) for each in (q, k, v))
        mixed = scaled_dot_product_attention(q, k, v, attn_mask, dropout_p, is_causal)
        mixed = mixed.permute(2, 0, 1, 3).reshape(batch * length, width)
        weights = None
    output = linear(mixed, out_proj_weight, out_proj_bias)
    output = output.view(length, batch, output.size(1))
    if is_batched:
        return output, weights
    return output.squeeze(1), None if weights is None else weights.squeeze(0)


def _attend_with_weights(
    q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None, dropout_p: float
) -> tuple[Tensor, Tensor]:
    q = q * math.sqrt(1.0 / q.shape[2])
    turned = k.transpose(-2, -1)
    scores = q.bmm(turned) if attn_mask is None else FUNCTIONS["baddbmm"](attn_mask, q, turned)
    weights = scores.softmax(-1)
    if dropout_p > 0.0:
        weights = dc.ops.aten.dropout(weights, dropout_p, True)
    return weights.bmm(v), weights
