"""Derivative formulas of convolutions; see ``dispatch_aten.derivatives``."""

from __future__ import annotations

from typing import Final

_OPTIONS: Final = "stride, padding, dilation, transposed, output_padding, groups"
_CONVOLUTION: Final = {
    name: f"convolution_backward(grad, input, weight, bias_sizes, {_OPTIONS}, grad_input_mask)[{place}]"
    for place, name in enumerate(("input", "weight", "bias"))
}

FORMULAS: Final[dict[str, dict[str, str]]] = {
    "_convolution": _CONVOLUTION,
    "col2im": {"self": "im2col(grad, kernel_size, dilation, padding, stride)"},
    "conv_tbc": {
        "self": "conv_tbc_backward(grad, self, weight, bias, pad)[0]",
        "weight": "conv_tbc_backward(grad, self, weight, bias, pad)[1]",
        "bias": "sum(grad, [0, 1])",
    },
    "convolution": _CONVOLUTION,
    "convolution_backward": {
        "grad_output": f"convolution_grad_gradient(grads, input, weight, {_OPTIONS}, output_mask)",
        "input": f"convolution_backward_input_gradient(grads, grad_output, input, weight, {_OPTIONS}, output_mask)",
        "weight": f"convolution_backward_weight_gradient(grads, grad_output, input, weight, {_OPTIONS}, output_mask)",
    },
    "im2col": {"self": "col2im(grad, self_sizes[-2:], kernel_size, dilation, padding, stride)"},
}
