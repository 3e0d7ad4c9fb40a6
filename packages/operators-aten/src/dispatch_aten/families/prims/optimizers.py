"""Steps of optimizers for lists of parameters, operator by operator.

A device may bring kernels that go through the parameters at once, with the same values. Bounds of the arguments are the
optimizer's to check.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dispatch_aten.decompositions._shared import Array, aten
from dispatch_aten.errors import OperatorError

if TYPE_CHECKING:
    from collections.abc import Sequence


def _check_lengths(name: str, *lists: Sequence[Any]) -> None:
    """Raise ``OperatorError`` for lists of different lengths, before anything is written."""
    lengths = [*map(len, lists)]
    if len({*lengths}) > 1:
        raise OperatorError(
            f"the lists have {', '.join(map(str, lengths))} tensors, but each has one of every parameter",
            operator=f"prims::{name}",
        )


def adam_step(
    self: Sequence[Array],
    grads: Sequence[Array],
    exp_avgs: Sequence[Array],
    exp_avg_sqs: Sequence[Array],
    *,
    step: float,
    lr: float,
    beta1: float,
    beta2: float,
    weight_decay: float,
    eps: float,
    decoupled: bool,
    maximize: bool,
) -> None:
    """Make a step of Adam for each parameter: ``prims::adam_``."""
    _check_lengths("adam_", self, grads, exp_avgs, exp_avg_sqs)
    size, root = lr / (1 - beta1**step), (1 - beta2**step) ** 0.5
    for param, given, mean, square in zip(self, grads, exp_avgs, exp_avg_sqs, strict=True):
        grad = aten.neg.default(given) if maximize else given
        if weight_decay and decoupled:
            aten.mul_.Scalar(param, 1 - lr * weight_decay)
        elif weight_decay:
            grad = aten.add.Tensor(grad, param, alpha=weight_decay)
        aten.lerp_.Scalar(mean, grad, 1 - beta1)
        aten.addcmul_.default(aten.mul_.Scalar(square, beta2), grad, grad, value=1 - beta2)
        scale = aten.add_.Scalar(aten.div_.Scalar(aten.sqrt.default(square), root), eps)
        aten.addcdiv_.default(param, mean, scale, value=-size)


def sgd_step(
    self: Sequence[Array],
    grads: Sequence[Array],
    momentum_buffers: Sequence[Array],
    *,
    lr: float,
    momentum: float,
    dampening: float,
    weight_decay: float,
    nesterov: bool,
    maximize: bool,
) -> None:
    """Make a step along the gradient for each parameter: ``prims::sgd_``."""
    buffers: Sequence[Any] = momentum_buffers if momentum else [None] * len(self)
    _check_lengths("sgd_", self, grads, buffers)
    for param, given, buffer in zip(self, grads, buffers, strict=True):
        grad = aten.neg.default(given) if maximize else given
        if weight_decay:
            grad = aten.add.Tensor(grad, param, alpha=weight_decay)
        if buffer is not None:
            aten.add_.Tensor(aten.mul_.Scalar(buffer, momentum), grad, alpha=1 - dampening)
            grad = aten.add.Tensor(grad, buffer, alpha=momentum) if nesterov else buffer
        aten.add_.Tensor(param, grad, alpha=-lr)
