"""Schedules that go up and down, the momentum opposite to the rate."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from ..optimizer import Optimizer
from .scheduler import LRScheduler, check_optimizer, save_function, set_value, spread


class _WithMomentum(LRScheduler):
    """The part that both have in common: a momentum, or Adam's first beta, that is set beside the rate."""

    cycle_momentum: bool
    use_beta1: bool

    def _start_momentum(self, base: Any, highest: Any, last_epoch: int) -> tuple[list[Any], list[Any]]:
        optimizer = self.optimizer
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in optimizer.defaults
        least, most = spread("base_momentum", optimizer, base), spread("max_momentum", optimizer, highest)
        if last_epoch == -1:
            for high, low, group in zip(most, least, optimizer.param_groups, strict=True):
                self._set_momentum(group, high)
                group["max_momentum"], group["base_momentum"] = high, low
        return least, most

    def _set_momentum(self, group: dict[str, Any], value: Any) -> None:
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


class CyclicLR(_WithMomentum):
    """Straight lines between two rates (Smith, 2017; source: ``torch.optim.lr_scheduler.CyclicLR``)."""

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = spread("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for rate, group in zip(base_lrs, optimizer.param_groups, strict=True):
                set_value(group, "lr", rate)
        self.max_lrs = spread("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        down = up if step_size_down is None else float(step_size_down)
        self.total_size = up + down
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode, self.gamma, self._scale_fn_custom, self.scale_mode = mode, gamma, scale_fn, scale_mode
        self._init_scale_fn()
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums, self.max_momentums = self._start_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def _init_scale_fn(self) -> None:
        if self._scale_fn_custom is not None:
            return
        functions: dict[str, Callable[[float], float]] = {
            "triangular": _one,
            "triangular2": _halve,
            "exp_range": partial(pow, self.gamma),
        }
        self._scale_fn_ref = functions[self.mode]
        self.scale_mode = "iterations" if self.mode == "exp_range" else "cycle"

    def scale_fn(self, x: Any) -> float:
        """Return the height of a cycle, or of a step, by its number."""
        return self._scale_fn_ref(x) if self._scale_fn_custom is None else self._scale_fn_custom(x)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        part = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        height = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            limits = zip(self.base_momentums, self.max_momentums, self.optimizer.param_groups, strict=True)
            for low, high, group in limits:
                self._set_momentum(group, high - (high - low) * part * height)
        return [low + (high - low) * part * height for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """Return the state; of a function that is an object its attributes."""
        state = super().state_dict()
        state.pop("_scale_fn_ref", None)
        function = state.pop("_scale_fn_custom")
        return {**state, "_scale_fn_custom": None if function is None else save_function(function)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict({name: value for name, value in state_dict.items() if name != "_scale_fn_custom"})
        saved = state_dict["_scale_fn_custom"]
        if saved is not None and self._scale_fn_custom is not None:
            self._scale_fn_custom.__dict__.update(saved)
        self._init_scale_fn()


def _one(x: float) -> float:
    return 1.0


def _halve(x: float) -> float:
    return 1 / 2.0 ** (x - 1)


def _along_cosine(start: Any, end: Any, part: float) -> Any:
    return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)


def _along_line(start: Any, end: Any, part: float) -> Any:
    return (end - start) * part + start


class OneCycleLR(_WithMomentum):
    """One cycle: up to the highest rate, and down far below the first (source: ``torch.optim.lr_scheduler.OneCycleLR``)."""

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        if total_steps is None and (epochs is None or steps_per_epoch is None):
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        if total_steps is None:
            _check_count(epochs, "epochs")
            _check_count(steps_per_epoch, "steps_per_epoch")
            total_steps = epochs * steps_per_epoch  # type: ignore[operator]
        else:
            _check_count(total_steps, "total_steps")
        self.total_steps = total_steps
        self._schedule_phases = _list_phases(pct_start, total_steps, three_phase)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_func_type = anneal_strategy
        highest = spread("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for most, group in zip(highest, optimizer.param_groups, strict=True):
                group["initial_lr"] = most / div_factor
                group["max_lr"] = most
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._start_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        anneal = _along_cosine if self._anneal_func_type == "cos" else _along_line
        start = 0.0
        for phase in self._schedule_phases:
            if step <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            start = phase["end_step"]
        part = (step - start) / (phase["end_step"] - start)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(anneal(group[phase["start_lr"]], group[phase["end_lr"]], part))
            if self.cycle_momentum:
                self._set_momentum(group, anneal(group[phase["start_momentum"]], group[phase["end_momentum"]], part))
        return rates


def _check_count(value: Any, name: str) -> None:
    if value <= 0 or not isinstance(value, int):
        raise ValueError(f"Expected positive integer {name}, but got {value}")


_FIELDS = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")


def _list_phases(part: float, steps: int, three: bool) -> list[dict[str, Any]]:
    """Return the phases of a cycle: the step that ends each, and the settings that it leads from and to."""
    up = (float(part * steps) - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum")
    if three:
        rows = [
            up,
            (float(2 * part * steps) - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
            (steps - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
        ]
    else:
        rows = [up, (steps - 1, "max_lr", "min_lr", "base_momentum", "max_momentum")]
    return [dict(zip(_FIELDS, row, strict=True)) for row in rows]
