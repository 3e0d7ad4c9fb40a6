"""Which scores the functions of attention leave out.

Note [Masks of attention]
    The functions leave scores out where a mask of truth values holds: the negation of torch's. A causal one is kept for the
    next call; above 2048 rows or columns the functions take a part of it, which they repeat along the diagonal.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from dispatch_aten.dtypes import ScalarType
from dispatch_aten.shapes import contiguous
from dispatch_core.caches import keep

from ..aclnn.launch import allocate_result, collected_results, launch
from ..aclnn.pools import clear_at_close
from ..arrays import AclArray
from ..runtime.stream import current

_COMPRESSED: Final = 2048
_ALL: Final = (1 << 31) - 1


class Masking(NamedTuple):
    """Which scores are left out, as the functions take it."""

    mask: AclArray | None
    after: int
    precise: int
    mode: int

    @property
    def options(self) -> tuple[int, int]:
        """The numbers of positions before and after its own that a query sees."""
        return _ALL, self.after


def mask_scores(attn_bias: AclArray | None, is_causal: bool, query: AclArray, columns: int) -> Masking:
    """Return the masking of a call, see Note [Masks of attention]."""
    batch, heads, rows, _ = query.spec.shape
    if is_causal:
        is_long = max(rows, columns) > _COMPRESSED
        shape = (_COMPRESSED, _COMPRESSED) if is_long else (rows, columns)
        return Masking(_causal_mask(query, shape), 0, 0, 2 if is_long else 0)
    if attn_bias is None:
        return Masking(None, _ALL, 0, 0)
    given = (1,) * (4 - len(attn_bias.spec.shape)) + attn_bias.spec.shape
    steps = (0,) * (4 - len(attn_bias.spec.shape)) + attn_bias.spec.strides
    full = (batch if given[0] > 1 or given[1] > 1 else 1, heads if given[1] > 1 else 1, rows, columns)
    strides = tuple([0 if size == 1 else step for size, step in zip(given, steps, strict=True)])
    hidden = allocate_result(contiguous(full, ScalarType.Bool))
    launch("aclnnLogicalNot", attn_bias.view(full, strides, attn_bias.storage_offset), hidden)
    return Masking(hidden, _ALL, 2, 1)


_masks: Final = clear_at_close({})
_CAPACITY: Final = 16


def _causal_mask(like: AclArray, shape: tuple[int, int]) -> AclArray:
    """Return the mask of the scores above the diagonal, on the device of ``like``."""
    if collected_results() is not None:
        return _make_causal_mask(shape)
    key = like.block.device, shape
    mask: AclArray | None = _masks.get(key)
    if mask is None:
        mask = _make_causal_mask(shape)
        # Other streams may work with it from now on.
        current().synchronize()
        keep(_masks, key, mask, _CAPACITY)
    return mask


def _make_causal_mask(shape: tuple[int, int]) -> AclArray:
    ones, mask = (allocate_result(contiguous(shape, ScalarType.Bool)) for _ in range(2))
    launch("aclnnInplaceOne", ones)
    launch("aclnnTriu", ones, 1, mask)
    return mask
