"""``torch_npu.optim``: optimizers under Ascend's names, which are torch's here, with the same arguments in the same places.

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


class NpuFusedAdam(torchlike.optim.Adam):
    """Adam (source: ``torch_npu.optim``).

    >>> import torchlike
    >>> weight = torchlike.nn.Parameter(torchlike.ones(2))
    >>> optimizer = NpuFusedAdam([weight], lr=0.1)
    >>> weight.sum().backward(); optimizer.step(); weight.detach()
    tensor([0.9000, 0.9000])
    """


class NpuFusedAdamW(torchlike.optim.AdamW):
    """AdamW (source: ``torch_npu.optim``)."""


class NpuFusedSGD(torchlike.optim.SGD):
    """Stochastic gradient descent (source: ``torch_npu.optim``); the learning rate has no default."""

    def __init__(self, params: Iterable[Any], lr: float, *args: Any, **kwargs: Any) -> None:
        super().__init__(params, lr, *args, **kwargs)


class NpuFusedRMSprop(torchlike.optim.RMSprop):
    """RMSprop (source: ``torch_npu.optim``)."""


class NpuFusedAdadelta(torchlike.optim.Adadelta):
    """Adadelta (source: ``torch_npu.optim``)."""


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
