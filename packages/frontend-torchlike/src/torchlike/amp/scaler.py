"""Scaling of losses, so that small gradients do not vanish in half precision."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

from ..functions import FUNCTIONS
from ..history.grad_mode import no_grad
from ..tensors import Tensor

__all__ = ["GradScaler"]


class GradScaler:
    """Multiplies losses, divides gradients, and leaves out steps with infinite ones (source: ``torch.amp.GradScaler``).

    On a device that is not there it warns and is disabled: losses and gradients stay as they are.

    >>> import torchlike
    >>> scaler = GradScaler("cpu", init_scale=4.)
    >>> w = torchlike.ones(1, requires_grad=True)
    >>> scaler.scale(w.sum()).backward()
    >>> w.grad
    tensor([4.])
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device, self._enabled = device, enabled
        if enabled and device != "cpu":
            warnings.warn(
                f"torch.{device}.amp.GradScaler is enabled, but {device.upper()} is not available.  Disabling.",
                UserWarning,
                stacklevel=2,
            )
            self._enabled = False
        if self._enabled and growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if self._enabled and backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._scale, self._growth, self._backoff = float(init_scale), growth_factor, backoff_factor
        self._interval, self._good_steps = growth_interval, 0
        #: id of an optimizer whose gradients are divided already → whether one of them is infinite.
        self._unscaled: dict[int, bool] = {}
        self._found_inf = False

    def scale(self, outputs: Any) -> Any:
        """Return a loss, or losses in containers, times the present factor."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * self._scale
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(self.scale(each) for each in outputs)
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def _each_gradient(self, optimizer: Any) -> Iterator[Tensor]:
        for group in optimizer.param_groups:
            for param in group["params"]:
                if param.grad is not None:
                    yield param.grad

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer's parameters by the factor, once per step."""
        if not self._enabled:
            return
        if id(optimizer) in self._unscaled:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        is_infinite = False
        with no_grad():
            for gradient in self._each_gradient(optimizer):
                gradient.mul_(1.0 / self._scale)
                is_infinite = is_infinite or not bool(FUNCTIONS["isfinite"](gradient).all())
        self._unscaled[id(optimizer)] = is_infinite

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Call the optimizer's ``step``, unless a gradient is infinite."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        if id(optimizer) not in self._unscaled:
            self.unscale_(optimizer)
        is_infinite = self._unscaled[id(optimizer)]
        self._found_inf = self._found_inf or is_infinite
        return None if is_infinite else optimizer.step(*args, **kwargs)

    def update(self, new_scale: Any = None) -> None:
        """Choose the factor of the next step: smaller after an infinite gradient, larger after many good steps."""
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        elif self._found_inf:
            self._scale *= self._backoff
            self._good_steps = 0
        else:
            self._good_steps += 1
            if self._good_steps == self._interval:
                self._scale *= self._growth
                self._good_steps = 0
        self._unscaled, self._found_inf = {}, False

    def get_scale(self) -> float:
        """Return the present factor; 1 where it is disabled."""
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        return self._growth

    def set_growth_factor(self, new_factor: float) -> None:
        self._growth = new_factor

    def get_backoff_factor(self) -> float:
        return self._backoff

    def set_backoff_factor(self, new_factor: float) -> None:
        self._backoff = new_factor

    def get_growth_interval(self) -> int:
        return self._interval

    def set_growth_interval(self, new_interval: int) -> None:
        self._interval = new_interval

    def is_enabled(self) -> bool:
        """Return whether losses are scaled."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """Return the state; an empty dict where it is disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self._scale,
            "growth_factor": self._growth,
            "backoff_factor": self._backoff,
            "growth_interval": self._interval,
            "_growth_tracker": self._good_steps,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a state that ``state_dict`` returned."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._scale, self._growth = state_dict["scale"], state_dict["growth_factor"]
        self._backoff, self._interval = state_dict["backoff_factor"], state_dict["growth_interval"]
        self._good_steps = state_dict["_growth_tracker"]
