"""Losses of sequences as modules (source: ``torch.nn.modules.loss``)."""

from __future__ import annotations

from typing import Any

from ...tensors import Tensor
from .. import functional as F  # noqa: N812  # torch's own abbreviation
from .module import Module

__all__ = ["CTCLoss"]


class CTCLoss(Module):
    """Connectionist temporal classification (source: ``torch.nn.CTCLoss``; Graves et al., 2006).

    Shapes: log probabilities ``(T, N, C)`` and targets ``(N, S)`` to a number, or ``(N)`` without a reduction.
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__()
        self.blank, self.reduction, self.zero_infinity = blank, reduction, zero_infinity

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any) -> Tensor:
        return F.ctc_loss(
            log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity
        )
