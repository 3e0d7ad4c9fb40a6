"""Attention: ``npu_fusion_attention`` as a composition around ``scaled_dot_product_attention``.

Note [The results of attention]
    Seven, as in torch_npu: the output; the largest score of each row and the sum of the exponentials below it, eight times
    each, in float32; an empty tensor that torch_npu keeps for later; three numbers. The statistics are computed from the
    scores a second time, because the attention of torch's does not give them. The numbers tell the device's generator how
    to draw a dropout mask again: seed and offset are 0 here, where no such mask can be drawn again, and the third is the
    mask's number of elements.
"""

from __future__ import annotations

from typing import Any, Final

import torchlike
from torchlike import Tensor

from ..refusals import refuse
from .masks import hidden_positions

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
    queries = _split(query, head_num, input_layout, "query")
    heads = _count_heads(query, key, head_num, input_layout)
    keys, values = (_split(each, heads, input_layout, name) for each, name in ((key, "key"), (value, "value")))
    hidden = hidden_positions(
        atten_mask, sparse_mode, pre_tockens, next_tockens, queries.shape[2], keys.shape[2], query.device
    )
    output = torchlike.nn.functional.scaled_dot_product_attention(
        queries,
        keys,
        values,
        None if hidden is None else ~hidden,
        dropout_p=1 - keep_prob,
        scale=scale,
        enable_gqa=heads != head_num,
    )
    largest, total = _measure(queries, keys, hidden, scale)
    drawn = queries.shape[0] * head_num * queries.shape[2] * keys.shape[2] if keep_prob < 1 else 0
    return _join(output, input_layout), largest, total, query.new_empty(0), 0, 0, drawn


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
