"""Short ways of bags of embeddings: rows are taken and added some bags at a time, in the order of the indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ...arrays import Array
from ...fp_errors import run
from ...halves import TILE
from ..support.constants import NUMBERS
from ..support.places import add_slices
from ..support.reduce_ufuncs import MAX, SUM

_SUM, _MEAN, _MAX = 0, 1, 2
_INT64: Final = np.dtype(np.int64)


def _embedding_bag(
    weight: Array,
    indices: Array,
    offsets: Array,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Array | None,
    include_last_offset: bool,
    padding_idx: int | None = None,
) -> Any:
    if not (indices.dtype is offsets.dtype is _INT64 and indices.ndim == offsets.ndim == 1 and indices.size):
        return NotImplemented
    if weight.dtype not in NUMBERS or weight.ndim != 2 or padding_idx is not None or not 0 <= mode <= _MAX:
        return NotImplemented
    given = per_sample_weights
    if given is not None and (mode != _SUM or given.shape != indices.shape or given.dtype is not weight.dtype):
        return NotImplemented
    starts = offsets[:-1] if include_last_offset else offsets
    if not starts.size or starts.item(0) or MAX(indices.view(np.uint64)) >= len(weight):
        return NotImplemented
    sizes = np.diff(starts, append=indices.size)
    least, most = sizes.item(sizes.argmin()), sizes.item(sizes.argmax())
    if least < 0 or (mode == _MAX and least != most):
        return NotImplemented
    found, first = run(_fill_bags, weight, indices, sizes, mode, given, most if least == most else 0)
    if found is None:
        return NotImplemented
    return found, np.arange(sizes.size).repeat(sizes), sizes, sizes.copy() if first is None else first


def _fill_bags(weight: Array, indices: Array, sizes: Array, mode: int, given: Array | None, size: int) -> Any:
    """Return the bags, each of ``size`` indices if that is not 0, and for the greatest elements where they lie."""
    count, width = sizes.size, weight.shape[1]
    if not size:
        found = np.zeros((count, width), weight.dtype)
        rows = weight.take(indices, 0)
        add_slices(found, 0, np.arange(count).repeat(sizes), rows if given is None else rows * given[:, None])
    else:
        found = np.empty((count, width), weight.dtype)
        first = np.empty(found.shape, np.int64) if mode == _MAX else None
        tile = max(1, TILE // max(1, size * width))
        for start in range(0, count, tile):
            part = slice(start * size, (start + tile) * size)
            rows = weight.take(indices[part], 0)
            if given is not None:
                rows *= given[part, None]
            rows = rows.reshape(-1, size, width)
            into = found[start : start + tile]
            (SUM if first is None else MAX)(rows, 1, None, into)
            if first is not None:
                first[start : start + tile] = rows.argmax(1)
        if first is not None:
            # The usual way handles nan.
            first += np.arange(0, count * size, size)[:, None]
            return (None if np.isnan(found).any() else found), first
    if mode == _MEAN:
        found /= np.maximum(sizes, 1).astype(found.dtype)[:, None]
    return found, None


_PARTS: Final = """
    _to_copy arange.start_step clamp_min clone cumsum detach div.Tensor embedding eq.Scalar eq.Tensor expand gather index_add
    logical_and logical_not masked_fill.Scalar mul.Tensor ne.Scalar new_full new_ones new_zeros scatter_reduce.two
    slice.Tensor sub.Scalar unsqueeze
"""

#: Operator → its short way, and the options of ``Library.short_way``.
SHORT_WAYS: Final[dict[str, tuple[Callable[..., Any], dict[str, Any]]]] = {
    name: (_embedding_bag, {"parts": tuple(_PARTS.split())}) for name in ("embedding_bag", "embedding_bag.padding_idx")
}
