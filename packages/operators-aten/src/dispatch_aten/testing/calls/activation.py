"""Right calls of the operators of ``operators.activation``: names, and a function that draws their arguments."""

from __future__ import annotations

from typing import Final

from dispatch_core import ops

from ..drawing import CallRow, call

CALLS: Final[tuple[CallRow, ...]] = (
    call("leaky_relu", lambda r: (r.f(5), 0.2)),
    call("threshold", lambda r: (r.f(9), 0.3, 2.0)),
    call("elu", lambda r: (r.f(9), 1.5, 1.1, 0.9)),
    call("gelu", lambda r: (r.f(9),), approximate="tanh"),
    call("sigmoid_backward tanh_backward silu_backward gelu_backward", lambda r: (r.f(4), r.f(4))),
    call("gelu_backward", lambda r: (r.f(4), r.f(4)), approximate="tanh"),
    call("softplus_backward", lambda r: (r.f(4), r.f(4), 2.0, 1.0)),
    call("elu_backward", lambda r: (r.f(9), 1.5, 1.1, 0.9, False, r.f(9))),
    call("elu_backward", lambda r: (r.f(9), 1.5, 1.1, 0.9, True, r.f(9))),
    call("leaky_relu_backward", lambda r: (r.f(4), r.f(4), 0.2, False)),
    call("threshold_backward", lambda r: (r.f(4), r.f(4), 0.2)),
    call("silu softplus gelu relu elu rrelu", lambda r: (r.f(2, 3),)),
    call(
        "celu hardshrink hardsigmoid hardswish hardtanh mish relu6 selu softshrink log_sigmoid log_sigmoid_forward",
        lambda r: (r.f(3, 4),),
    ),
    call("glu", lambda r: (r.f(3, 4), 1)),
    call("glu_backward", lambda r: (r.f(3, 2), r.f(3, 4), 1)),
    call("log_sigmoid_backward", lambda r: (r.f(5), y := r.f(5), ops.aten.log_sigmoid_forward(y)[1])),
    call("rrelu_with_noise_backward", lambda r: (r.f(5), r.f(5), r.f(5), 0.1, 0.3, False, False)),
    call("prelu", lambda r: (r.f(2, 3, 4), r.f(3))),
    call("_prelu_kernel", lambda r: (r.f(2, 3), r.f(2, 3))),
    call("_prelu_kernel_backward", lambda r: (r.f(2, 3), r.f(2, 3), r.f(2, 3))),
    call("rrelu_with_noise_functional", lambda r: (r.f(3), r.f(3), 0.1, 0.3, True)),
    call("hardshrink_backward softshrink_backward", lambda r: (r.f(3, 4), r.f(3, 4), 0.3)),
    call("hardtanh_backward", lambda r: (r.f(3, 4), r.f(3, 4), -0.5, 0.7)),
    call("hardsigmoid_backward hardswish_backward mish_backward", lambda r: (r.f(3, 4), r.f(3, 4))),
)
