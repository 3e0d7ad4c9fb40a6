"""Schedules that multiply the rate of each step by a factor."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from typing import Any

from ..optimizer import Optimizer
from .scheduler import LRScheduler, Schedule, save_function


class _ByFunctions(LRScheduler):
    """A schedule by the user's functions of the number of steps, one for all groups or one for each."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Schedule | list[Schedule], last_epoch: int = -1) -> None:
        self.optimizer = optimizer
        count = len(optimizer.param_groups)
        functions = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * count
        if len(functions) != count:
            raise ValueError(f"Expected {count} lr_lambdas, but got {len(functions)}")
        self.lr_lambdas: list[Any] = functions
        self._check()
        super().__init__(optimizer, last_epoch)

    def _check(self) -> None:
        """Raise where a function is none."""

    def state_dict(self) -> dict[str, Any]:
        """Return the state; of functions that are objects their attributes."""
        state = {name: value for name, value in super().state_dict().items() if name != "lr_lambdas"}
        return {**state, "lr_lambdas": [save_function(function) for function in self.lr_lambdas]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.__dict__.update({name: value for name, value in state_dict.items() if name != "lr_lambdas"})
        for function, saved in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            if saved is not None:
                function.__dict__.update(saved)


class LambdaLR(_ByFunctions):
    """The first rate times a function of the step (source: ``torch.optim.lr_scheduler.LambdaLR``)."""

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        return [base * function(self.last_epoch) for function, base in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(_ByFunctions):
    """The last rate times a function of the step (source: ``torch.optim.lr_scheduler.MultiplicativeLR``)."""

    def _check(self) -> None:
        for function in self.lr_lambdas:
            if not callable(function):
                raise TypeError(f"lr_lambda should be a function, but got {type(function).__name__}")

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        if self._is_initial:
            return self._keep()
        groups = self.optimizer.param_groups
        return [
            group["lr"] * function(self.last_epoch) for function, group in zip(self.lr_lambdas, groups, strict=True)
        ]


class StepLR(LRScheduler):
    """The rate times ``gamma`` every ``step_size`` steps (source: ``torch.optim.lr_scheduler.StepLR``).

    >>> import torchlike
    >>> optimizer = torchlike.optim.SGD([torchlike.ones(1, requires_grad=True)], lr=1.)
    >>> schedule = StepLR(optimizer, 2, gamma=0.5)
    >>> rates = []
    >>> for _ in range(4):
    ...     optimizer.step()
    ...     schedule.step()
    ...     rates += schedule.get_last_lr()
    >>> rates
    [1.0, 0.5, 0.5, 0.25]
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        if self._is_initial or self.last_epoch == 0 or self.last_epoch % self.step_size:
            return self._keep()
        return self._scale(self.gamma)

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """The rate times ``gamma`` at each milestone (source: ``torch.optim.lr_scheduler.MultiStepLR``)."""

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        if self.last_epoch not in self.milestones or (self._is_initial and self.last_epoch > 0):
            return self._keep()
        return self._scale(self.gamma ** self.milestones[self.last_epoch])

    def _get_closed_form_lr(self) -> list[Any]:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma**passed for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """A smaller rate for the first ``total_iters`` steps (source: ``torch.optim.lr_scheduler.ConstantLR``)."""

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        if self.last_epoch == 0:
            return self._scale(self.factor)
        ends = self.last_epoch == self.total_iters and not self._is_initial
        return self._scale(1.0 / self.factor) if ends else self._keep()

    def _get_closed_form_lr(self) -> list[Any]:
        factor = self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor)
        return [base * factor for base in self.base_lrs]


class LinearLR(LRScheduler):
    """A factor that goes from one number to another in equal steps (source: ``torch.optim.lr_scheduler.LinearLR``)."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        if self.last_epoch == 0:
            return self._scale(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._keep()
        change = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * change
        return self._scale(1.0 + change / before)

    def _get_closed_form_lr(self) -> list[Any]:
        change, passed = self.end_factor - self.start_factor, min(self.total_iters, self.last_epoch)
        return [base * (self.start_factor + change * passed / self.total_iters) for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """The rate times ``gamma`` at every step (source: ``torch.optim.lr_scheduler.ExponentialLR``)."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        return self._keep() if self._is_initial else self._scale(self.gamma)

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """A power of the part of the steps that is left (source: ``torch.optim.lr_scheduler.PolynomialLR``)."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._keep()
        now, before = (1.0 - at / self.total_iters for at in (self.last_epoch, self.last_epoch - 1))
        return self._scale((now / before) ** self.power)

    def _get_closed_form_lr(self) -> list[Any]:
        left = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * left**self.power for base in self.base_lrs]
