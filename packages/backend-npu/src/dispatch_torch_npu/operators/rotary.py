"""Rotary positions: ``npu_rotary_mul`` and its relative for queries and keys."""

from __future__ import annotations

import torchlike
from torchlike import Tensor

__all__ = ["npu_apply_rotary_pos_emb", "npu_rotary_mul"]


def npu_rotary_mul(
    self: Tensor, r1: Tensor, r2: Tensor, rotary_mode: str = "half", rotate: Tensor | None = None
) -> Tensor:
    """Return ``x * cos + turned(x) * sin`` (source: ``torch_npu``).

    Args:
        self: ``x``, whose last dimension is turned.
        r1: The cosines.
        r2: The sines.
        rotary_mode: ``"half"``: the pairs are an element of the first half and one of the second; ``"interleave"``: each
            even element and the next.
        rotate: A matrix by which ``x`` is turned instead.

    >>> npu_rotary_mul(torchlike.tensor([1.0, 2.0]), torchlike.zeros(2), torchlike.ones(2))
    tensor([-2.,  1.])
    """
    if rotate is not None:
        turned = self @ rotate
    elif rotary_mode == "half":
        first, second = self.chunk(2, -1)
        turned = torchlike.cat((-second, first), -1)
    elif rotary_mode == "interleave":
        turned = torchlike.stack((-self[..., 1::2], self[..., ::2]), -1).flatten(-2)
    else:
        raise ValueError(f"rotary_mode is {rotary_mode!r}; it is 'half' or 'interleave'")
    return (self * r1 + turned * r2).to(self.dtype)


def npu_apply_rotary_pos_emb(
    query: Tensor, key: Tensor, cos: Tensor, sin: Tensor, layout: str = "BSND", rotary_mode: str = "half"
) -> tuple[Tensor, Tensor]:
    """Return ``npu_rotary_mul`` of queries and of keys (source: ``torch_npu``).

    Unlike torch_npu, it leaves its arguments as they are. ``layout`` needs no work: sines and cosines broadcast.

    >>> ones = torchlike.ones(1, 1, 1, 2)
    >>> npu_apply_rotary_pos_emb(ones, ones, ones, ones)[0].tolist()
    [[[[0.0, 2.0]]]]
    """
    if layout not in ("BSND", "BNSD", "SBND", "TND"):
        raise ValueError(f"layout is {layout!r}; it is 'BSND', 'BNSD', 'SBND' or 'TND'")
    return npu_rotary_mul(query, cos, sin, rotary_mode), npu_rotary_mul(key, cos, sin, rotary_mode)
