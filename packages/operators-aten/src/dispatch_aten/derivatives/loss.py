"""Derivative formulas of softmax and losses; see ``dispatch_aten.derivatives``."""

from __future__ import annotations

from typing import Final

FORMULAS: Final = {
    "_log_softmax": {"self": "_log_softmax_backward_data(grad, result, dim, self_dtype)"},
    "_log_softmax_backward_data": {
        "grad_output": "sub(grad, sum(mul(grad, exp(output)), [dim], True))",
        "output": "neg(mul(mul(grad, exp(output)), sum(grad_output, [dim], True)))",
    },
    "_softmax": {"self": "_softmax_backward_data(grad, result, dim, self_dtype)"},
    "_softmax_backward_data": {
        "grad_output": "_softmax_backward_data(grad, output, dim, input_dtype)",
        "output": "softmax_double_backward(grad, grad_output, output, dim)",
    },
    "_euclidean_dist": {
        "x1": "euclidean_gradient(grad, x1, x2, result)",
        "x2": "euclidean_gradient(mT(grad), x2, x1, mT(result))",
    },
    "binary_cross_entropy": {
        "self": "bce_gradient(grad, self, target, weight, reduction)",
        "target": "bce_target_gradient(grad, self, weight, reduction)",
    },
    "binary_cross_entropy_with_logits": {
        "self": "bce_with_logits_gradient(grad, self, target, weight, pos_weight, reduction)",
        "target": "bce_with_logits_target_gradient(grad, self, weight, pos_weight, reduction)",
    },
    "huber_loss": {
        "self": "huber_gradient(grad, self, target, reduction, delta)",
        "target": "neg(huber_gradient(grad, self, target, reduction, delta))",
    },
    "mse_loss": {
        "self": "mse_loss_backward(grad, self, target, reduction)",
        "target": "mse_loss_backward(grad, target, self, reduction)",
    },
    "mse_loss_backward": {
        "grad_output": "mul(grad, mse_slope(grad, self, target, reduction))",
        "self": "mul(mul(grad, grad_output), mse_factor(grad, reduction))",
        "target": "mul(mul(grad, grad_output), -mse_factor(grad, reduction))",
    },
    "nll_loss_backward": {
        "grad_output": "nll_loss(grad, target, weight, reduction, ignore_index)",
        "self": "zeros_like(grad)",
    },
    "nll_loss_forward": {"self": "nll_loss_backward(grad, self, target, weight, reduction, ignore_index, result1)"},
    "smooth_l1_loss": {
        "self": "smooth_l1_gradient(grad, self, target, reduction, beta)",
        "target": "neg(smooth_l1_gradient(grad, self, target, reduction, beta))",
    },
    "soft_margin_loss": {"self": "soft_margin_gradient(grad, self, target, reduction)"},
}

REFUSED: Final = {
    **dict.fromkeys(("cross_entropy_loss", "nll_loss", "nll_loss_forward", "nll_loss_nd"), ("weight",)),
    "binary_cross_entropy": ("weight",),
    "binary_cross_entropy_with_logits": ("weight", "pos_weight"),
    "nll_loss_backward": ("weight",),
    "soft_margin_loss": ("target",),
}

DIFFERENTIABLE_OUTPUTS: Final = {"nll_loss_forward": (True, False)}
