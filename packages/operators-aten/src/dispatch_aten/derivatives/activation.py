"""Derivative formulas of activations; see ``dispatch_aten.derivatives``."""

from __future__ import annotations

from typing import Final

FORMULAS: Final = {
    "_prelu_kernel": {
        "self": "getitem(_prelu_kernel_backward(grad, self, weight), 0)",
        "weight": "getitem(_prelu_kernel_backward(grad, self, weight), 1)",
    },
    "_prelu_kernel_backward": {
        name: f"prelu_double_backward('{name}', grads, grad_output, self, weight)"
        for name in ("grad_output", "self", "weight")
    },
    "celu": {"self": "elu_backward(grad, alpha, 1, 1 / alpha, False, self)"},
    "celu_": {"self": "elu_backward(grad, alpha, 1, 1 / alpha, True, result)"},
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
    "elu_": {"self": "elu_backward(grad, alpha, scale, input_scale, True, result)"},
    "glu": {"self": "glu_backward(grad, self, dim)"},
    "hardshrink": {"self": "hardshrink_backward(grad, self, lambd)"},
    "hardshrink_backward": {"grad_out": "hardshrink_backward(grad, self, lambd)", "self": "zeros_like(grad)"},
    "hardsigmoid": {"self": "hardsigmoid_backward(grad, self)"},
    "hardsigmoid_backward": {"grad_output": "hardsigmoid_backward(grad, self)", "self": "zeros_like(grad)"},
    "hardswish": {"self": "hardswish_backward(grad, self)"},
    "hardswish_backward": {
        "grad_output": "hardswish_backward(grad, self)",
        "self": "hardswish_double_backward(mul(grad, grad_output), self)",
    },
    "hardtanh": {"self": "hardtanh_backward(grad, self, min_val, max_val)"},
    "hardtanh_": {"self": "hardtanh_backward(grad, result, min_val, max_val)"},
    "hardtanh_backward": {
        "grad_output": "hardtanh_backward(grad, self, min_val, max_val)",
        "self": "zeros_like(grad)",
    },
    "leaky_relu": {"self": "leaky_relu_backward(grad, self, negative_slope, False)"},
    "leaky_relu_": {"self": "leaky_relu_backward(grad, result, negative_slope, True)"},
    "leaky_relu_backward": {
        "grad_output": "leaky_relu_backward(grad, self, negative_slope, self_is_result)",
        "self": "zeros_like(grad)",
    },
    "log_sigmoid_forward": {"self": "log_sigmoid_backward(grad, self, result1)"},
    "log_sigmoid_backward": {
        "grad_output": "log_sigmoid_backward(grad, self, buffer)",
        "self": "neg(sigmoid_backward(mul(grad, grad_output), sigmoid(self)))",
    },
    "mish": {"self": "mish_backward(grad, self)"},
    "relu": {"self": "threshold_backward(grad, result, 0)"},
    "rrelu_with_noise_functional": {
        "self": "rrelu_with_noise_backward(grad, self, result1, lower, upper, training, False)",
    },
    "rrelu_with_noise_backward": {
        "grad_output": "rrelu_with_noise_backward(grad, self, noise, lower, upper, training, self_is_result)",
        "self": "zeros_like(grad)",
    },
    "sigmoid": {"self": "sigmoid_backward(grad, result)"},
    "sigmoid_backward": {
        "grad_output": "sigmoid_backward(grad, output)",
        "output": "mul(mul(grad, grad_output), one_minus(mul(output, 2)))",
    },
    "silu": {"self": "silu_backward(grad, self)"},
    "silu_backward": {
        "grad_output": "silu_backward(grad, self)",
        "self": "silu_double_backward(mul(grad, grad_output), self)",
    },
    "softshrink": {"self": "softshrink_backward(grad, self, lambd)"},
    "softshrink_backward": {"grad_output": "softshrink_backward(grad, self, lambd)", "self": "zeros_like(grad)"},
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

DIFFERENTIABLE_OUTPUTS: Final = {
    "log_sigmoid_forward": (True, False),
    "rrelu_with_noise_functional": (True, False),
}
