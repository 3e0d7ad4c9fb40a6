"""``torch_npu.optim``: optimizers under Ascend's names, which are torch's here: a step is a function for each parameter.

Those of papers that torch does not have (LAMB, AdamP, BertAdam, RMSprop as TensorFlow's) are refused by name.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import torchlike

from .refusals import refusing_class

__all__ = [
    "NpuFusedAdadelta",
    "NpuFusedAdam",
    "NpuFusedAdamP",
    "NpuFusedAdamW",
    "NpuFusedBertAdam",
    "NpuFusedLamb",
    "NpuFusedOptimizerBase",
    "NpuFusedRMSprop",
    "NpuFusedRMSpropTF",
    "NpuFusedSGD",
]

_Parameters = Iterable[Any]


class NpuFusedAdam(torchlike.optim.Adam):
    """Adam (source: ``torch_npu.optim``).

    >>> import torchlike
    >>> weight = torchlike.nn.Parameter(torchlike.ones(2))
    >>> optimizer = NpuFusedAdam([weight], lr=0.1)
    >>> weight.sum().backward(); optimizer.step(); weight.detach()
    tensor([0.9000, 0.9000])
    """

    def __init__(
        self,
        params: _Parameters,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
    ) -> None:
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad)


class NpuFusedAdamW(torchlike.optim.AdamW):
    """AdamW (source: ``torch_npu.optim``)."""

    def __init__(
        self,
        params: _Parameters,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
    ) -> None:
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad)


class NpuFusedSGD(torchlike.optim.SGD):
    """Stochastic gradient descent (source: ``torch_npu.optim``); the learning rate has no default."""

    def __init__(
        self,
        params: _Parameters,
        lr: float,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
    ) -> None:
        super().__init__(
            params, lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov
        )


class NpuFusedRMSprop(torchlike.optim.RMSprop):
    """RMSprop (source: ``torch_npu.optim``)."""

    def __init__(
        self,
        params: _Parameters,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
    ) -> None:
        super().__init__(
            params, lr=lr, alpha=alpha, eps=eps, weight_decay=weight_decay, momentum=momentum, centered=centered
        )


class NpuFusedAdadelta(torchlike.optim.Adadelta):
    """Adadelta (source: ``torch_npu.optim``)."""

    def __init__(
        self, params: _Parameters, lr: float = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0
    ) -> None:
        super().__init__(params, lr=lr, rho=rho, eps=eps, weight_decay=weight_decay)


_ABSENT: Final = ("torch has no such optimizer", "torch.optim.AdamW is the usual one in its place")
NpuFusedAdamP = refusing_class("torch_npu.optim.NpuFusedAdamP", *_ABSENT)
NpuFusedBertAdam = refusing_class("torch_npu.optim.NpuFusedBertAdam", *_ABSENT)
NpuFusedLamb = refusing_class("torch_npu.optim.NpuFusedLamb", *_ABSENT)
NpuFusedRMSpropTF = refusing_class("torch_npu.optim.NpuFusedRMSpropTF", *_ABSENT)
NpuFusedOptimizerBase = refusing_class(
    "torch_npu.optim.NpuFusedOptimizerBase",
    "optimizers of one's own join no memory of parameters here",
    "subclass torch.optim.Optimizer",
)
