"""Attention: ``npu_fusion_attention`` around the operator of ``scaled_dot_product_attention``.

Note [The results of attention]
    Seven, as in torch_npu: the output; the largest score of each row and the sum of the exponentials below it, eight times
    each, in float32; an empty tensor that torch_npu keeps for later; three numbers. The device's function has written the
    statistics beside the output; where a call is composed, or a pipeline computes it, they are computed from the scores a
    second time. The numbers are seed and offset from which the device's generator has drawn dropout, and the number of the
    scores. Without dropout, and in pipelines, whose draws come later, seed and offset are 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import dispatch_core as dc
import torchlike
from torchlike import Tensor

from ..refusals import refuse
from .masks import check_mask, hidden_positions, is_triangle
from .statistics import read_statistics

__all__ = ["npu_fusion_attention"]

_ALL: Final = 2147483647
#: How often the statistics of a row are repeated.
_REPEATED: Final = 8
#: Layout → the dimensions of the argument, and the order in which they are batch, heads, positions, features.
_LAYOUTS: Final = {"BNSD": None, "BSND": (0, 2, 1, 3), "BSH": (0, 2, 1, 3), "SBH": (1, 2, 0, 3)}
_RANKS: Final = {"BNSD": 4, "BSND": 4, "BSH": 3, "SBH": 3}


def npu_fusion_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    head_num: int,
    input_layout: str,
    pse: Tensor | None = None,
    padding_mask: Tensor | None = None,
    atten_mask: Tensor | None = None,
    scale: float = 1.0,
    keep_prob: float = 1.0,
    pre_tockens: int = _ALL,
    next_tockens: int = _ALL,
    inner_precise: int = 0,
    prefix: Any = None,
    actual_seq_qlen: Any = None,
    actual_seq_kvlen: Any = None,
    sparse_mode: int = 0,
    gen_mask_parallel: bool = True,
    sync: bool = False,
    softmax_layout: str = "",
    sink: Tensor | None = None,
    dropout_mask: Tensor | None = None,
    seed: int = 0,
    offset: int = 0,
) -> tuple[Tensor, Tensor, Tensor, Tensor, int, int, int]:
    """Return attention and the statistics of its rows (source: ``torch_npu.npu_fusion_attention``).

    Args:
        query: In the layout that ``input_layout`` names.
        key: As ``query``, with its own number of positions; its heads may be fewer, by a whole factor.
        value: As ``key``.
        head_num: The number of heads of ``query``.
        input_layout: ``"BSH"``, ``"SBH"``, ``"BSND"`` or ``"BNSD"``.
        pse: Refused: torch_npu's documents disagree on whether it is scaled.
        padding_mask: Refused, as torch_npu does not take it yet.
        atten_mask: Where scores are left out; see Note [Compressed masks] in `masks` for the modes 2 to 4.
        scale: The factor of the scores.
        keep_prob: The share of weights that dropout keeps.
        pre_tockens: In mode 4, how many positions before its own a query sees.
        next_tockens: In mode 4, how many positions after its own a query sees.
        inner_precise: Without effect: rows without a score give zeros.
        prefix: Refused, with the modes 5 and 6.
        actual_seq_qlen: Refused, with the layout ``"TND"``.
        actual_seq_kvlen: Refused, as ``actual_seq_qlen``.
        sparse_mode: 0 and 1: the mask as given; 2: causal from the first position; 3: causal to the last one; 4: a band.
        gen_mask_parallel: Without effect on results.
        sync: Without effect on results.
        softmax_layout: Refused, with the layout ``"TND"``.
        sink: Refused.
        dropout_mask: Refused.
        seed: Refused: dropout draws from the device's generator.
        offset: Refused, as ``seed``.

    Returns the seven of Note [The results of attention].
    Raises ``NotServedError`` for what is refused, ``ValueError`` for shapes that the layout cannot have.

    >>> x = torchlike.ones(1, 2, 4)
    >>> npu_fusion_attention(x, x, x, 2, "BSH", scale=0.5)[0].shape
    torchlike.Size([1, 2, 4])
    """
    given = {
        "pse": (pse is not None, "torch_npu's documents disagree on whether it is scaled", "add it to the scores"),
        "padding_mask": (padding_mask is not None, "torch_npu does not take it either", "use atten_mask"),
        "prefix": (prefix is not None, "masks of prefixes are not computed", "give the whole mask, sparse_mode=1"),
        "actual_seq_qlen": (actual_seq_qlen is not None, _PACKED, _PAD),
        "actual_seq_kvlen": (actual_seq_kvlen is not None, _PACKED, _PAD),
        "softmax_layout": (softmax_layout != "", _PACKED, _PAD),
        "sink": (sink is not None, "biases of heads are not computed", "compose the attention of torch's functions"),
        "dropout_mask": (dropout_mask is not None, "dropout masks are not taken from outside", "use keep_prob"),
        "seed": (bool(seed or offset), "dropout draws from the device's generator", "use torch.npu.manual_seed()"),
    }
    for name, (is_given, reason, hint) in given.items():
        if is_given:
            refuse(f"npu_fusion_attention({name}=...)", reason, hint)
    if not 0 < keep_prob <= 1:
        raise ValueError(f"keep_prob is {keep_prob}; it is above 0 and at most 1")
    start = _place_of_draw(query.device) if keep_prob < 1 else (0, 0)
    queries = _split(query, head_num, input_layout, "query")
    heads = _count_heads(query, key, head_num, input_layout)
    keys, values = (_split(each, heads, input_layout, name) for each, name in ((key, "key"), (value, "value")))
    queries, keys, values = _cast(queries, keys, values)
    rows, columns = queries.shape[2], keys.shape[2]
    check_mask(atten_mask, sparse_mode, rows, columns)
    places = atten_mask, sparse_mode, pre_tockens, next_tockens, rows, columns, query.device
    is_causal = atten_mask is not None and is_triangle(sparse_mode, rows, columns)
    hidden = None if is_causal else hidden_positions(*places)
    shown = None if hidden is None else ~hidden
    grouped = heads != head_num
    arguments = queries, keys, values, shown, 1 - keep_prob, is_causal
    statistics: Sequence[Tensor] = ()
    if _has_function(queries, keys, values):
        output, sums, *_ = torchlike.ops.aten._scaled_dot_product_efficient_attention(
            *arguments[:4], True, *arguments[4:], scale=scale
        )
        statistics = read_statistics(sums)
    else:
        attend = torchlike.nn.functional.scaled_dot_product_attention
        output = attend(*arguments, scale=scale, enable_gqa=grouped)
    largest, total = statistics or _measure(queries, keys, hidden_positions(*places), scale)
    scores = queries.shape[0] * head_num * rows * columns
    return _join(output, input_layout), largest, total, query.new_empty(0), *start, scores


_TAKEN: Final = (torchlike.float32, torchlike.float16, torchlike.bfloat16)


def _cast(*tensors: Tensor) -> list[Tensor]:
    """Return tensors as autocast has them."""
    if tensors[0].device.type != "npu" or not torchlike.is_autocast_enabled("npu"):
        return list(tensors)
    dtype = torchlike.get_autocast_dtype("npu")
    return [each.to(dtype) if each.dtype in _TAKEN else each for each in tensors]


def _has_function(queries: Tensor, keys: Tensor, values: Tensor) -> bool:
    """Return whether the device has a function for attention of these."""
    is_filled = bool(queries.numel() and keys.numel())
    return queries.device.type == "npu" and queries.dtype in _TAKEN and is_filled and keys.shape == values.shape


def _place_of_draw(device: torchlike.device) -> tuple[int, int]:
    """Return seed and offset from which the next draw of a device begins; zeros where that is not known yet."""
    if device.type != "npu" or dc.current_pipeline() is not None:
        return 0, 0
    state = bytes(torchlike.npu.get_rng_state(device).tolist())
    return int.from_bytes(state[:8], "little"), int.from_bytes(state[8:16], "little")


_PACKED: Final = "packed sequences of several lengths (the layout TND) are not computed"
_PAD: Final = "pad the sequences to one length, with the layout BSND and a mask"


def _split(x: Tensor, heads: int, layout: str, name: str) -> Tensor:
    """Return an argument with the dimensions batch, heads, positions, features."""
    if layout == "TND":
        refuse("npu_fusion_attention(input_layout='TND')", _PACKED, _PAD)
    if layout not in _LAYOUTS:
        raise ValueError(f"input_layout is {layout!r}; it is one of {', '.join(map(repr, _LAYOUTS))}")
    if x.dim() != _RANKS[layout]:
        raise ValueError(f"{name} has {x.dim()} dimensions; in the layout {layout} it has {_RANKS[layout]}")
    if layout in ("BSH", "SBH"):
        if x.shape[2] % heads:
            raise ValueError(f"the last dimension of {name}, {x.shape[2]}, is not divisible by its {heads} heads")
        x = x.unflatten(2, (heads, x.shape[2] // heads))
    order = _LAYOUTS[layout]
    split: Tensor = x if order is None else x.permute(order)
    if split.shape[1] != heads:
        raise ValueError(f"{name} has {split.shape[1]} heads in the layout {layout}, and head_num is {heads}")
    return split


def _count_heads(query: Tensor, key: Tensor, head_num: int, layout: str) -> int:
    """Return the number of heads of keys and values; those of queries share them in groups."""
    if layout in ("BSH", "SBH"):
        features = query.shape[2] // head_num
        heads = int(key.shape[2]) // max(features, 1)
    else:
        heads = int(key.shape[1 if layout == "BNSD" else 2])
    if not heads or head_num % heads:
        raise ValueError(f"head_num is {head_num}, which is not a multiple of the {heads} heads of key")
    return heads


def _measure(queries: Tensor, keys: Tensor, hidden: Tensor | None, scale: float) -> tuple[Tensor, Tensor]:
    """Return the largest score of each row and the sum of the exponentials; see Note [The results of attention]."""
    with torchlike.no_grad():
        groups = queries.shape[1] // keys.shape[1]
        scores = queries.float() @ keys.float().repeat_interleave(groups, 1).transpose(2, 3) * scale
        if hidden is not None:
            scores = scores.masked_fill(hidden, float("-inf"))
        largest = scores.amax(-1, keepdim=True)
        total = (scores - largest).exp().sum(-1, keepdim=True)
        shape = (*scores.shape[:3], _REPEATED)
        return largest.expand(shape).contiguous(), total.expand(shape).contiguous()


def _join(output: Tensor, layout: str) -> Tensor:
    """Return the output in the layout of the arguments."""
    if layout == "BNSD":
        return output
    if layout == "SBH":
        return output.permute(2, 0, 1, 3).flatten(2)
    joined = output.permute(0, 2, 1, 3)
    return joined.flatten(2) if layout == "BSH" else joined.contiguous()
