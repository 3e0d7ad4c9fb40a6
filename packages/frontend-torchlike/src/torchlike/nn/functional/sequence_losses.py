"""Losses of sequences (source: ``torch.nn.functional``)."""

from __future__ import annotations

from typing import Any

import dispatch_core as dc

from ...tensors.tensor import Tensor
from .losses import to_number


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
    found: Tensor = dc.ops.aten.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, to_number(reduction), zero_infinity
    )
    return found
