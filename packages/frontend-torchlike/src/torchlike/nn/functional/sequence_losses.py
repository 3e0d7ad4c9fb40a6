"""Losses of sequences (source: ``torch.nn.functional``)."""

from __future__ import annotations

from typing import Any

import dispatch_core as dc

from ...tensors import Tensor

_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Return the connectionist temporal classification loss of ``log_probs`` ``(T, N, C)``, or ``(T, C)``.

    ``targets`` are rows ``(N, S)``, or all labels one after the other.
    """
    if reduction not in _REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    found: Tensor = dc.ops.aten.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, _REDUCTIONS[reduction], zero_infinity
    )
    return found
