"""Derivative formulas of random operators; see ``dispatch_aten.derivatives``."""

from __future__ import annotations

from typing import Final

FORMULAS: Final = {
    name: {"self": "zeros_like(grad)"}
    for name in (
        "bernoulli bernoulli.p bernoulli_.Tensor bernoulli_.float exponential_ normal_ random_ random_.from random_.to "
        "uniform_ cauchy_ log_normal_ geometric_ poisson bernoulli.Tensor"
    ).split()
} | {
    "_standard_gamma": {"self": "mul(grad, _standard_gamma_grad(self, result))"},
    "_sample_dirichlet": {"self": "zeros_like(grad)"},
    "binomial": {"prob": "zeros_like(prob)"},
    "normal.Tensor_float": {"mean": "zeros_like(mean)"},
    "normal.float_Tensor": {"std": "zeros_like(std)"},
    "normal.Tensor_Tensor": {"mean": "zeros_like(mean)", "std": "zeros_like(std)"},
    "native_dropout": {"input": "native_dropout_gradient(grad, result1, p, train)"},
    "native_dropout_backward": {"grad_output": "native_dropout_backward(grad, mask, scale)"},
}

DIFFERENTIABLE_OUTPUTS: Final = {"native_dropout": (True, False)}

NOT_DIFFERENTIABLE: Final = frozenset({"multinomial", "_standard_gamma_grad", "_dirichlet_grad"})
