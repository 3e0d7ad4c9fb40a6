"""Derivative formulas of recurrent networks and losses of sequences; see ``dispatch_aten.derivatives``."""

from __future__ import annotations

from typing import Final

FORMULAS: Final[dict[str, dict[str, str]]] = {
    "_ctc_loss": {
        "log_probs": (
            "_ctc_loss_backward(grad, log_probs, targets, input_lengths, target_lengths, result0, result1, blank, "
            "zero_infinity)"
        )
    },
}

DIFFERENTIABLE_OUTPUTS: Final = {"_ctc_loss": (True, False)}
