"""Averages of a network's weights over training (source: ``torch.optim.swa_utils``)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

from ..creation.factories import tensor
from ..history.grad_mode import no_grad
from ..nn.modules.batchnorm import _BatchNorm
from ..nn.modules.module import Module
from ..tensors.tensor import Tensor
from ..values.argument_types import DeviceLike
from .lr_scheduler.scheduler import LRScheduler, spread
from .optimizer import Optimizer

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def get_ema_avg_fn(decay: float = 0.999) -> Callable[..., Tensor]:
    """Return the function of an exponential average, for one parameter."""
    _check_decay(decay)

    @no_grad()
    def update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Any:
        return ema_param * decay + current_param * (1 - decay)

    return update


def get_swa_avg_fn() -> Callable[..., Tensor]:
    """Return the function of an average of equal weights, for one parameter."""

    @no_grad()
    def update(averaged_param: Tensor, current_param: Tensor, num_averaged: Any) -> Any:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return update


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[..., None]:
    """Return the function of an exponential average, for lists of parameters."""
    _check_decay(decay)

    @no_grad()
    def update(ema_param_list: Any, current_param_list: Any, _: Any) -> None:
        for average, current in zip(ema_param_list, current_param_list, strict=True):
            if average.dtype.is_differentiable:
                average.lerp_(current, 1 - decay)
            else:
                average.copy_(average * decay + current * (1 - decay))

    return update


def get_swa_multi_avg_fn() -> Callable[..., None]:
    """Return the function of an average of equal weights, for lists of parameters."""

    @no_grad()
    def update(averaged_param_list: Any, current_param_list: Any, num_averaged: Any) -> None:
        weight = 1 / (float(num_averaged) + 1)
        for average, current in zip(averaged_param_list, current_param_list, strict=True):
            if average.dtype.is_differentiable:
                average.lerp_(current, weight)
            else:
                average.copy_(average + (current - average) * weight)

    return update


class AveragedModel(Module):
    """A copy of a network whose weights are averages (source: ``torch.optim.swa_utils.AveragedModel``)."""

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: DeviceLike = None,
        avg_fn: Callable[..., Any] | None = None,
        multi_avg_fn: Callable[..., Any] | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        copy = deepcopy(model)
        self.module: Any = copy if device is None else copy.to(device)
        self.register_buffer("n_averaged", tensor(0, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    @no_grad()
    def update_parameters(self, model: Module) -> None:
        """Take the present weights of a network into the averages."""
        own: Any = self.module.parameters()
        others: Any = model.parameters()
        if self.use_buffers:
            own, others = itertools.chain(own, self.module.buffers()), itertools.chain(others, model.buffers())
        pairs = [(mine.detach(), its.detach().to(mine.device)) for mine, its in zip(own, others, strict=False)]
        if self.n_averaged == 0:
            for mine, its in pairs:
                mine.copy_(its)
        elif self.multi_avg_fn is not None:
            self.multi_avg_fn([mine for mine, _ in pairs], [its for _, its in pairs], self.n_averaged)
        else:
            average = self.avg_fn or get_swa_avg_fn()
            for mine, its in pairs:
                mine.copy_(average(mine, its, self.n_averaged.to(mine.device)))
        if not self.use_buffers:
            for mine, its in zip(self.module.buffers(), model.buffers(), strict=True):
                mine.detach().copy_(its.detach())
        self.n_averaged += 1


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: DeviceLike = None) -> None:
    """Compute the statistics of batch normalization again, from all batches of a loader."""
    layers = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    momenta = {module: module.momentum for module in layers}
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.reset_running_stats()
        module.momentum = None  # an average of equal weights
    for batch in loader:
        first = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(first if device is None else first.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """The rate goes to a constant one within some steps (source: ``torch.optim.swa_utils.SWALR``)."""

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: Any,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        for rate, group in zip(spread("swa_lr", optimizer, swa_lr), optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy, self.anneal_epochs = anneal_strategy, anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _weight(self, step: int) -> float:
        """Return the weight of the constant rate after a number of steps."""
        part = max(0, min(1, step / max(1, self.anneal_epochs)))
        return (1 - math.cos(math.pi * part)) / 2 if self._anneal_strategy == "cos" else part

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._weight(step - 1), self._weight(step)
        found = []
        for group in self.optimizer.param_groups:
            last = group["swa_lr"]
            first = last if before == 1 else (group["lr"] - before * last) / (1 - before)
            found.append(last * now + first * (1 - now))
        return found
