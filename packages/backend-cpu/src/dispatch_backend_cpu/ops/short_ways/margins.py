"""Short ways of the losses of margins between classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ...arrays import Array
from ...fp_errors import run
from ...halves import TILE
from ..networks import loss
from ..pointwise.numpy_formulas import clamp
from ..support.constants import NUMBERS, PLAIN, number
from ..support.reduce_ufuncs import MAX, SUM

_INT64: Final = np.dtype(np.int64)


def _as_rows(self: Array, target: Array) -> tuple[Array, Array] | None:
    """Return scores in rows and their targets; None for calls of the usual way."""
    if self.dtype not in NUMBERS or target.dtype is not _INT64 or not self.flags.c_contiguous or not self.size:
        return None
    return (self, target) if self.ndim == 2 else (self[None], target[None]) if self.ndim == 1 else None


def _multi_margin_loss(self: Array, target: Array, p: Any, margin: Any, weight: Array | None, reduction: int) -> Any:
    found = _as_rows(self, target)
    if found is None or type(p) is not int or p not in (1, 2) or type(margin) not in PLAIN:
        return NotImplemented
    rows, classes = found
    count = rows.shape[1]
    if self.ndim != 2 or target.shape != rows.shape[:1] or MAX(target.view(np.uint64)) >= count:
        return NotImplemented
    if weight is not None and (weight.dtype is not self.dtype or weight.shape != (count,)):
        return NotImplemented
    return run(_sum_margins, rows, classes, p, number(margin, self), weight, reduction)


def _sum_margins(rows: Array, target: Array, p: int, margin: Array, weight: Array | None, reduction: int) -> Any:
    count, classes = rows.shape
    places = np.arange(0, count * classes, classes) + target
    short = (rows - rows.take(places)[:, None]) + margin
    losses = clamp(short, number(0, rows))
    if p == 2:
        losses = losses * losses
    if weight is not None:
        losses = losses * weight.take(target)[:, None]
    losses.reshape(-1)[places] = 0
    return loss.reduce(SUM(losses, 1) / number(classes, rows), reduction)


def _multilabel_margin_loss(self: Array, target: Array, reduction: int) -> Any:
    found = _as_rows(self, target)
    if found is None or target.shape != self.shape or not target.flags.c_contiguous:
        return NotImplemented
    totals = run(_sum_labels, *found)
    if totals is None:
        return NotImplemented
    return loss.reduce(totals if self.ndim == 2 else totals.reshape(()), reduction)


def _sum_labels(rows: Array, target: Array) -> Any:
    """Return the sum of each row over its labels and the other classes; None where a label is not a class."""
    count, classes = rows.shape
    # The labels end at the first negative one.
    counts = np.logical_and.accumulate(target >= 0, 1)
    labels = np.where(counts, target, 0)
    if MAX(labels, None) >= classes:
        return None
    named = np.zeros(rows.shape, np.bool_)
    lines = np.arange(0, rows.size, classes)[:, None]
    named.reshape(-1)[(labels + lines)[counts]] = True
    chosen = rows.take(labels + lines)
    zero, one = number(0, rows), number(1, rows)
    found = np.empty(count, rows.dtype)
    tile = max(1, TILE // (classes * classes))
    for start in range(0, count, tile):
        part = slice(start, start + tile)
        short = clamp(one - (chosen[part, :, None] - rows[part, None]), zero)
        short[~(counts[part, :, None] & ~named[part, None])] = 0
        SUM(short, (1, 2), None, found[part])
    return found / number(classes, rows)


_MARGIN: Final = """
    _to_copy add.Scalar arange.start_step relu div.Scalar eq.Tensor gather index_select masked_fill.Scalar mean
    mul.Tensor reshape sub.Tensor sum sum.dim_IntList unsqueeze view
"""
_LABELS: Final = (
    "any.dim cumsum eq.Scalar logical_and logical_not lt.Scalar rsub.Scalar where.ScalarOther where.self new_full"
)

#: Operator → its short way, and the options of ``Library.short_way``.
SHORT_WAYS: Final[dict[str, tuple[Callable[..., Any], dict[str, Any]]]] = {
    "multi_margin_loss": (_multi_margin_loss, {"parts": tuple(_MARGIN.split())}),
    "multilabel_margin_loss": (_multilabel_margin_loss, {"parts": tuple((_MARGIN + _LABELS).split())}),
}
