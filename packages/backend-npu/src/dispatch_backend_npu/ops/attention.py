"""Attention by one function, and its gradient by another one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt
from typing import Any, Final

from dispatch_aten.dtypes import ScalarType
from dispatch_aten.shapes import cached_rule, contiguous

from ..aclnn.composition import compose
from ..aclnn.conditions import is_filled
from ..aclnn.launch import allocate_result, collected_results, launch
from ..arrays import AclArray, array_in
from .attention_masks import Masking, mask_scores
from .attention_rows import TIMES, StatisticsBlock, add_logarithms, statistics_of
from .dropout import MaskBlock, bits_of, draw_bits

NAME: Final = "_scaled_dot_product_efficient_attention"
_BACKWARD: Final = f"{NAME}_backward"
_forward_rule: Final = cached_rule(NAME)
_backward_rule: Final = cached_rule(_BACKWARD)
_WIDEST, _MOST_HEADS, _LONGEST, _MOST_SAMPLES = 768, 256, 1 << 20, 1 << 21


def takes(query: AclArray, key: AclArray, value: AclArray) -> bool:
    """Return whether the functions take operands of the shape rule, by their sizes."""
    batch, heads, rows, width = query.spec.shape
    return (
        is_filled(query.spec)
        and is_filled(key.spec)
        and value.spec.shape == key.spec.shape
        and width <= _WIDEST
        and heads <= _MOST_HEADS
        and max(rows, key.spec.shape[2]) <= _LONGEST
        and batch <= _MOST_SAMPLES
    )


def choose_layout(query: AclArray, *others: AclArray) -> tuple[str, Callable[[AclArray], AclArray]]:
    """Return the functions' layout that is nearest to the query's in memory, and a function that views arrays so.

    Any layout serves any arrays: the functions copy those that lie otherwise.
    """
    sample, head, row, _ = query.spec.strides
    if row <= head:
        return "BNSD", lambda array: array
    if row > sample and all(each.spec.strides[1] == each.spec.shape[3] for each in (query, *others)):
        return "SBH", _rows_first
    return "BSND", lambda array: _permute(array, (0, 2, 1, 3))


def _permute(array: AclArray, order: Sequence[int]) -> AclArray:
    spec = array.spec
    return array.view([spec.shape[dim] for dim in order], [spec.strides[dim] for dim in order], array.storage_offset)


def _rows_first(array: AclArray) -> AclArray:
    (batch, heads, rows, width), strides = array.spec.shape, array.spec.strides
    return array.view((rows, batch, heads * width), (strides[2], strides[0], strides[3]), array.storage_offset)


def _scale(query: AclArray, scale: float | None) -> float:
    return 1.0 / sqrt(query.spec.shape[3]) if scale is None else scale


def run_forward(
    query: AclArray,
    key: AclArray,
    value: AclArray,
    out: AclArray,
    masking: Masking,
    bits: AclArray | None,
    keep_prob: float,
    scale: float,
) -> tuple[AclArray, AclArray]:
    """Run the function on arrays of the shape rule; return the largest scores and the sums."""
    heads = query.spec.shape[1]
    spec = contiguous((*query.spec.shape[:3], TIMES), ScalarType.Float)
    largest, sums = allocate_result(spec), allocate_result(spec)
    layout, view = choose_layout(query, key, value, out)
    launch(
        "aclnnFlashAttentionScore",
        *map(view, (query, key, value)),
        *(None, bits, None, masking.mask, None),
        scale,
        keep_prob,
        *masking.options,
        heads,
        layout,
        masking.precise,
        masking.mode,
        largest,
        sums,
        None,
        view(out),
    )
    return largest, sums


def _forward(
    query: AclArray,
    key: AclArray,
    value: AclArray,
    attn_bias: AclArray | None,
    compute_log_sumexp: bool,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
) -> tuple[AclArray, ...]:
    arguments = query, key, value, attn_bias, compute_log_sumexp, dropout_p, is_causal
    planned = collected_results()
    specs = _forward_rule(*arguments, scale=scale) if planned is None else planned
    drops = 0 not in specs[2].shape
    if not takes(query, key, value) or (drops and dropout_p == 1) or (is_causal and attn_bias is not None):
        found: tuple[AclArray, ...] = compose(NAME, *arguments, scale=scale)
        return found
    masking = mask_scores(attn_bias, is_causal, query, key.spec.shape[2])
    out, bits = allocate_result(specs[0]), None
    if drops:
        bits = draw_bits(query, specs[2].shape, dropout_p)
    given = query, key, value, out, masking, bits, 1 - dropout_p if drops else 1.0, _scale(query, scale)
    largest, sums = run_forward(*given)
    if not compute_log_sumexp:
        rows = allocate_result(specs[1])
    elif planned is not None:
        rows = allocate_result(specs[1])
        add_logarithms(rows, largest, sums, is_masked=attn_bias is not None)
    else:
        rows = array_in(StatisticsBlock(specs[1], (largest, sums), is_masked=attn_bias is not None), specs[1])
    kept = allocate_result(specs[2]) if bits is None else array_in(MaskBlock(specs[2], bits, dropout_p), specs[2])
    return out, rows, kept, allocate_result(specs[3])


def run_backward(
    grad: AclArray,
    query: AclArray,
    key: AclArray,
    value: AclArray,
    out: AclArray,
    statistics: tuple[AclArray, AclArray],
    grads: Sequence[AclArray],
    masking: Masking,
    bits: AclArray | None,
    keep_prob: float,
    scale: float,
) -> None:
    """Run the gradient's function on arrays of the shape rule."""
    heads = query.spec.shape[1]
    layout, view = choose_layout(query, key, value, grad, out, *grads)
    launch(
        "aclnnFlashAttentionScoreGrad",
        *map(view, (query, key, value, grad)),
        *(None, bits, None, masking.mask),
        *statistics,
        None,
        view(out),
        None,
        scale,
        keep_prob,
        *masking.options,
        heads,
        layout,
        masking.precise,
        masking.mode,
        *map(view, grads),
        None,
    )


def _backward(
    grad_out_: AclArray,  # torch's name
    query: AclArray,
    key: AclArray,
    value: AclArray,
    attn_bias: AclArray,
    out: AclArray,
    logsumexp: AclArray,
    philox_seed: AclArray,
    philox_offset: AclArray,
    dropout_p: float,
    grad_input_mask: Sequence[bool],
    is_causal: bool = False,
    *,
    scale: float | None = None,
) -> tuple[AclArray, ...]:
    arrays = grad_out_, query, key, value, attn_bias, out, logsumexp, philox_seed, philox_offset
    arguments = *arrays, dropout_p, grad_input_mask, is_causal
    planned = collected_results()
    specs = _backward_rule(*arguments, scale=scale) if planned is None else planned
    drops = 0 not in philox_seed.spec.shape
    mask = attn_bias if attn_bias.spec.shape != (0,) else None
    bits = bits_of(philox_seed, dropout_p) if drops else None
    if (
        not takes(query, key, value)
        or drops is (bits is None)
        or (is_causal and mask is not None)
        or {grad_out_.spec.dtype, out.spec.dtype} != {query.spec.dtype}
    ):
        found: tuple[AclArray, ...] = compose(_BACKWARD, *arguments, scale=scale)
        return found
    results = [allocate_result(spec) for spec in specs]
    grads = [
        each if asked else allocate_result(contiguous(like.spec.shape, like.spec.dtype))
        for each, asked, like in zip(results, grad_input_mask, (query, key, value), strict=False)
    ]
    masking = mask_scores(mask, is_causal, query, key.spec.shape[2])
    statistics = statistics_of(logsumexp)
    given = grad_out_, query, key, value, out, statistics, grads, masking, bits
    run_backward(*given, 1 - dropout_p if drops else 1.0, _scale(query, scale))
    return tuple(results)


KERNELS: Final[dict[str, Callable[..., Any]]] = {NAME: _forward, _BACKWARD: _backward}
