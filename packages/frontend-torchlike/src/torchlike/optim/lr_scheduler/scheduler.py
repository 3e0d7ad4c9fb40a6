"""The base of schedules: the count of steps, and the rate that it decides for each group of parameters."""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ClassVar, Final, Self
from weakref import ref

from dispatch_core.lazy_text import repr_by_attributes

from ...history.captures import current_part
from ...tensors.tensor import Tensor
from ..numbers import read_number, to_plain
from ..optimizer import Optimizer

EPOCH_DEPRECATION_WARNING: Final = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed form is "
    "used instead of the new chainable form, where available. Please open an issue if you are unable to replicate your use "
    "case: https://github.com/pytorch/pytorch/issues/new/choose."
)
_ORDER: Final = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"


def copy_values(optimizer: Optimizer, name: str) -> list[Any]:
    """Return a setting of every group; a tensor as a copy."""
    return [value.clone() if isinstance(value := group[name], Tensor) else value for group in optimizer.param_groups]


def set_value(group: dict[str, Any], name: str, value: Any) -> None:
    """Change a setting of a group, in place where it is a tensor."""
    if isinstance(group[name], Tensor):
        group[name].fill_(read_number(to_plain(value)))
    else:
        group[name] = value


def spread(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """Return one value for each group; raises ``ValueError`` for a list of another length."""
    count = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        value = [value] * count
    if len(value) != count:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, param_groups "
            f"has {count}."
        )
    return [each.clone() if isinstance(each, Tensor) else each for each in value]


#: torch's names of these.
_param_groups_val_list, _update_param_group_val, _format_param = copy_values, set_value, spread


def check_optimizer(optimizer: object) -> None:
    """Raise ``TypeError`` for anything but an optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def save_function(function: Any) -> Any:
    """Return the attributes of a callable object, and None for a plain function, which a file cannot hold."""
    return None if isinstance(function, types.FunctionType) else function.__dict__.copy()


def _note_steps(optimizer: Any) -> None:
    """Wrap an optimizer's ``step`` so that it notes its calls."""
    step = optimizer.step
    if hasattr(step, "_wrapped_by_lr_sched"):
        return
    owner, function = ref(optimizer), step.__func__

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        own: Any = owner()
        own._opt_called = True
        return function.__get__(own, type(own))(*args, **kwargs)

    call._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = call


def _with_capture(step: Callable[..., Any]) -> Callable[..., Any]:
    """Return a schedule's ``step`` that a captured call takes note of."""

    @wraps(step)
    def call(*args: Any, **kwargs: Any) -> Any:
        if (part := current_part()) is not None:
            return part.optimizers.step_schedule(args[0], step, args[1:], kwargs)
        return step(*args, **kwargs)

    return call


class _enable_get_lr_call:  # noqa: N801  # torch's name
    """A block in which a schedule's ``get_lr`` may be called without a warning; libraries' schedules open it."""

    _mark: ClassVar[str] = "_get_lr_called_within_step"

    def __init__(self, o: Any) -> None:
        self.o = o

    def __enter__(self) -> Self:
        setattr(self.o, self._mark, True)
        return self

    def __exit__(self, *exc: object) -> None:
        setattr(self.o, self._mark, False)


class _initial_mode(_enable_get_lr_call):  # noqa: N801  # torch's name
    """The block of a schedule's first step, which its constructor makes."""

    _mark = "_is_initial"


def _warn_get_lr_called_within_step(lr_scheduler: Any, level: int = 3) -> None:
    """Warn where ``get_lr`` was called by a program, and not by ``step``."""
    if not lr_scheduler._get_lr_called_within_step:
        warnings.warn(
            "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
            UserWarning,
            stacklevel=level,
        )


class LRScheduler:
    """The base of schedules (source: ``torch.optim.lr_scheduler.LRScheduler``); a subclass defines ``get_lr``.

    Raises ``TypeError`` for anything but an optimizer, ``KeyError`` for one without ``initial_lr`` where ``last_epoch`` is
    given.
    """

    _get_lr_called_within_step: bool = False
    _is_initial: bool = False
    optimizer: Optimizer
    last_epoch: Any
    _step_count: int
    _last_lr: list[Any]

    __repr__ = repr_by_attributes()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in vars(cls):
            cls.step = _with_capture(cls.step)  # type: ignore[method-assign]

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copy_values(optimizer, "lr")[number])
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{number}] when resuming scheduler with "
                    "last_epoch >= 0.\nThis typically happens when:\n1. You're trying to resume training from a checkpoint "
                    "but haven't properly loaded the optimizer state\n2. You're using last_epoch >= 0 for a fresh training "
                    "run (not recommended)"
                )
        self.base_lrs: list[Any] = copy_values(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _note_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        with _initial_mode(self):
            self.step()

    def state_dict(self) -> dict[str, Any]:
        """Return everything but the optimizer."""
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a state that ``state_dict`` returned."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """Return the present rate of each group."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """Compute the next rate of each group; every schedule defines its own."""
        raise NotImplementedError

    def _warn_outside_step(self) -> None:
        _warn_get_lr_called_within_step(self, level=4)

    def step(self, epoch: int | None = None) -> None:
        """Set the rates of the next step of the schedule."""
        if self._step_count == 1:
            self._check_order()
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _check_order(self) -> None:
        if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
            warnings.warn(
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. Please, "
                f"make sure to call `optimizer.step()` before `lr_scheduler.step()`. {_ORDER}",
                UserWarning,
                stacklevel=3,
            )
        elif not getattr(self.optimizer, "_opt_called", False):
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should "
                "call them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will "
                f"result in PyTorch skipping the first value of the learning rate schedule. {_ORDER}",
                UserWarning,
                stacklevel=3,
            )

    def _update_lr(self, epoch: int | None = None) -> None:
        with _enable_get_lr_call(self):
            if epoch is None:
                self.last_epoch += 1
                values = self.get_lr()
            else:
                self.last_epoch = epoch
                values = getattr(self, "_get_closed_form_lr", self.get_lr)()
        self._set_rates(values)

    def _set_rates(self, values: Sequence[Any]) -> None:
        for group, value in zip(self.optimizer.param_groups, values, strict=True):
            set_value(group, "lr", value)
        self._last_lr = copy_values(self.optimizer, "lr")

    def _scale(self, factor: Any) -> list[Any]:
        """Return the rates of the groups times a factor."""
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _keep(self) -> list[Any]:
        """Return the rates of the groups as they are."""
        return copy_values(self.optimizer, "lr")


LRScheduler.step = _with_capture(LRScheduler.step)  # type: ignore[method-assign]


class _LRScheduler(LRScheduler):
    """The base's older name (source: ``torch.optim.lr_scheduler._LRScheduler``)."""


Schedule = Callable[[int], float]
