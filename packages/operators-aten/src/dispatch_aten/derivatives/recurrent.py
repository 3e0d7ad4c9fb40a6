"""Derivative formulas of recurrent networks and losses of sequences; see ``dispatch_aten.derivatives``."""

from __future__ import annotations

from typing import Final

_LAYER: Final = (
    "mkldnn_rnn_layer_backward(input, weight0, weight1, weight2, weight3, hx_, cx_, result0, result1, result2, grads[0], "
    "grads[1], grads[2], reverse, mode, hidden_size, num_layers, has_biases, train, bidirectional, batch_sizes, "
    "batch_first, result3)"
)

FORMULAS: Final[dict[str, dict[str, str]]] = {
    "_ctc_loss": {
        "log_probs": (
            "_ctc_loss_backward(grad, log_probs, targets, input_lengths, target_lengths, result0, result1, blank, "
            "zero_infinity)"
        )
    },
    "mkldnn_rnn_layer": {
        name: f"{_LAYER}[{place}]"
        for place, name in enumerate(["input", "weight0", "weight1", "weight2", "weight3", "hx_", "cx_"])
    },
}

DIFFERENTIABLE_OUTPUTS: Final = {"_ctc_loss": (True, False), "mkldnn_rnn_layer": (True, True, True, False)}
