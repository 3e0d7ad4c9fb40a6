"""Schedules made of other schedules."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from ..optimizer import Optimizer
from .plateau import ReduceLROnPlateau
from .scheduler import LRScheduler, copy_values, set_value


class _Joined(LRScheduler):
    """The part that both have in common: a list of schedules of one optimizer, and their states."""

    _schedulers: Sequence[Any]

    def _check(self, optimizer: Any, schedulers: Sequence[Any], purpose: str) -> None:
        name = type(self).__name__
        if len(schedulers) < 1:
            raise ValueError(f"{name} expects at least one scheduler{purpose}, but got no scheduler.")
        optimizer = optimizer or schedulers[0].optimizer
        for place, each in enumerate(schedulers):
            if not hasattr(each, "optimizer"):
                raise TypeError(f"{name} at index {place} should have `optimizer` as its attribute.")
            if isinstance(each, ReduceLROnPlateau):
                raise ValueError(
                    f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be "
                    f"specified when calling `step`, but got one at index {place} in the given schedulers sequence."
                )
            if optimizer != each.optimizer:
                raise ValueError(
                    f"{name} expects all schedulers to belong to the same optimizer, but got scheduler "
                    f"{type(each).__name__} at index {place} has {each.optimizer}, which is different from "
                    f"{type(optimizer).__name__}."
                )
        self._schedulers, self.optimizer = schedulers, optimizer

    def state_dict(self) -> dict[str, Any]:
        """Return the state, with those of the schedules."""
        state = {name: value for name, value in super().state_dict().items() if name != "_schedulers"}
        return {**state, "_schedulers": [each.state_dict() for each in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.__dict__.update({name: value for name, value in state_dict.items() if name != "_schedulers"})
        for each, state in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            each.load_state_dict(state)


class SequentialLR(_Joined):
    """Schedules one after the other (source: ``torch.optim.lr_scheduler.SequentialLR``)."""

    def __init__(
        self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1
    ) -> None:
        self._check(optimizer, schedulers, "")
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of milestone "
                f"points, but got number of schedulers {len(schedulers)} and the number of milestones to be equal to "
                f"{len(milestones)}"
            )
        self._milestones = milestones
        self.last_epoch = 0
        # The schedules have set rates when they were made: those of the first one are set again.
        for group in optimizer.param_groups:
            set_value(group, "lr", group["initial_lr"])
        self.recursive_undo()
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()
        self._replay(last_epoch + 1)

    def _replay(self, steps: int) -> None:
        """Make the steps before a resumption again, from the initial rates on, and ask for none of the optimizer's."""
        for each in self._schedulers if steps > 0 else ():
            each._step_count = getattr(each, "_step_count", 1) + 1  # those at 1 compare the order of calls
        for _ in range(steps):
            self.step()
        for each in self._schedulers if steps > 0 else ():
            each._step_count -= 1

    def recursive_undo(self, sched: Any = None) -> None:
        """Take back the step that each schedule made when it was made."""
        each = self if sched is None else sched
        if hasattr(each, "_schedulers"):
            for inner in each._schedulers:
                self.recursive_undo(inner)
        elif hasattr(each, "last_epoch"):
            each.last_epoch = -1

    def step(self, epoch: int | None = None) -> None:
        if epoch is not None:
            raise TypeError("SequentialLR.step() takes no argument")
        self.last_epoch += 1
        number = bisect_right(self._milestones, self.last_epoch)
        current = self._schedulers[number]
        if number > 0 and self._milestones[number - 1] == self.last_epoch:
            current._update_lr(0)
        else:
            current.step()
        self._last_lr = current.get_last_lr()


class ChainedScheduler(_Joined):
    """Schedules at the same time (source: ``torch.optim.lr_scheduler.ChainedScheduler``)."""

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        self._check(optimizer, schedulers, " to be chained")
        self._last_lr = copy_values(self.optimizer, "lr")

    def step(self, epoch: int | None = None) -> None:
        if epoch is not None:
            raise TypeError("ChainedScheduler.step() takes no argument")
        for each in self._schedulers:
            each.step()
        self._last_lr = copy_values(self.optimizer, "lr")
