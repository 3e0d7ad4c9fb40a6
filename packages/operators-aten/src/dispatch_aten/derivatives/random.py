"""Derivative formulas of random operators; see ``dispatch_aten.derivatives``."""

from __future__ import annotations

from typing import Final

FORMULAS: Final = {
    name: {"self": "zeros_like(grad)"}
    for name in (
        "bernoulli bernoulli.p bernoulli_.Tensor bernoulli_.float exponential_ normal_ random_ random_.from random_.to "
        "uniform_"
    ).split()
} | {
    "native_dropout": {"input": "native_dropout_gradient(grad, result1, p, train)"},
    "native_dropout_backward": {"grad_output": "native_dropout_backward(grad, mask, scale)"},
}

DIFFERENTIABLE_OUTPUTS: Final = {"native_dropout": (True, False)}
