"""Derivative formulas of activations; see ``dispatch_aten.derivatives``."""

from __future__ import annotations

from typing import Final

FORMULAS: Final = {
    "elu": {"self": "elu_backward(grad, alpha, scale, input_scale, False, self)"},
    "elu_backward": {
        "grad_output": "elu_backward(grad, alpha, scale, input_scale, is_result, self_or_result)",
        "self_or_result": (
            "elu_double_backward(mul(grad, grad_output), alpha, scale, input_scale, is_result, self_or_result)"
        ),
    },
    "gelu": {"self": "gelu_backward(grad, self, approximate=approximate)"},
    "gelu_backward": {
        "grad_output": "gelu_backward(grad, self, approximate=approximate)",
        "self": "gelu_double_backward(mul(grad, grad_output), self, approximate)",
    },
    "leaky_relu": {"self": "leaky_relu_backward(grad, self, negative_slope, False)"},
    "leaky_relu_backward": {
        "grad_output": "leaky_relu_backward(grad, self, negative_slope, self_is_result)",
        "self": "zeros_like(grad)",
    },
    "relu": {"self": "threshold_backward(grad, result, 0)"},
    "sigmoid": {"self": "sigmoid_backward(grad, result)"},
    "sigmoid_backward": {
        "grad_output": "sigmoid_backward(grad, output)",
        "output": "mul(mul(grad, grad_output), one_minus(mul(output, 2)))",
    },
    "silu": {"self": "silu_backward(grad, self)"},
    "softplus": {"self": "softplus_backward(grad, self, beta, threshold)"},
    "softplus_backward": {
        "grad_output": "softplus_backward(grad, self, beta, threshold)",
        "self": "softplus_double_backward(mul(grad, grad_output), self, beta, threshold)",
    },
    "tanh_backward": {
        "grad_output": "tanh_backward(grad, output)",
        "output": "mul(mul(grad, grad_output), mul(output, -2))",
    },
    "threshold": {"self": "threshold_backward(grad, self, threshold)"},
    "threshold_backward": {"grad_output": "threshold_backward(grad, self, threshold)", "self": "zeros_like(grad)"},
}
